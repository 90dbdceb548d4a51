//! `ReresolveLayer`: which handle a call goes to, what evicts it, and what callers see meanwhile.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod concurrent;
mod contract;
mod evidence;
mod last_poll;
mod reports_of_evictions;
mod reports_of_giving_up;
mod reports_of_handles;
mod reports_of_resolves;
#[path = "../support/mod.rs"]
mod support;
