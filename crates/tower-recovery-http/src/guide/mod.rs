//! The guide: what is known of the clients, by test, and what was decided.
//!
//! - [`failures`]: every client against every failure.
//! - [`decisions`]: what was decided where several ways were open.
//!
//! How a call is recovered, and what to set, stands in [`tower_recovery::guide`].

#[doc = include_str!("failures.md")]
pub mod failures {}

#[doc = include_str!("decisions.md")]
pub mod decisions {}
