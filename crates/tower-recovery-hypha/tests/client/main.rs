//! The client against a server whose every frame the test writes, for orders of events that a real one cannot be forced into.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod calls;
mod connecting;
mod delivery;
mod long_requests;
mod malformed;
mod opening;
mod reconnecting;
mod registry;
mod removals;
mod serving;
mod serving_lives;
mod serving_long;
mod support;
#[cfg(feature = "rustls")]
mod tls;
