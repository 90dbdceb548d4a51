//! The guide: what is known of the clients, by test.
//!
//! - [`failures`]: every client against every failure.

#[doc = include_str!("failures.md")]
pub mod failures {}
