//! A worker whose handle of the artifact manager goes stale: the manager dies, freezes, or comes back, and another one takes its place. Against a real server, with managers on `hypha-rpc`.
//!
//! What was executed is what the managers' ledger says. Another process has no events to wait for, so its ledger and the registry are asked until it is so, for a bounded time.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod answered;
mod dead_peer;
mod failed_resolve;
mod frozen;
mod killed_in_flight;
mod restarted;
mod same_id;
mod selection;
mod silence;
mod support;
mod visibility;
