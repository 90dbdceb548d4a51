//! The guide: how the stack thinks, how it is set, and why it is as it is.
//!
//! - [`calls`]: from a failed attempt to the next one.
//! - [`streams`]: from a stream that breaks, or says nothing, to the one that takes its place.
//! - [`registrations`]: from a name that leads nowhere to one that does, for whoever serves and for whoever calls.
//! - [`settings`]: what to set, and what follows from it.
//! - [`decisions`]: what was decided where several ways were open.

#[doc = include_str!("calls.md")]
pub mod calls {}

#[doc = include_str!("streams.md")]
pub mod streams {}

#[doc = include_str!("registrations.md")]
pub mod registrations {}

#[doc = include_str!("settings.md")]
pub mod settings {}

#[doc = include_str!("decisions.md")]
pub mod decisions {}
