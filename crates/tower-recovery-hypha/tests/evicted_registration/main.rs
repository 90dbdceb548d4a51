//! A worker whose registration goes while its socket stays open, and one whose server goes: against a real server, found again by a Python client.
//!
//! The interval is 3 s in the place of 60 s. Another process's registry has no events to wait for, so it is asked until it is so, for a bounded time.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod announced;
mod another;
mod closing;
mod duplicate;
mod fleet;
mod forgotten;
mod frozen_server;
mod in_flight;
mod reaped;
mod restarted;
mod shutdown;
mod support;
