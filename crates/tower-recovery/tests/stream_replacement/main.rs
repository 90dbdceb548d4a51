//! `StreamReplacementLayer`: what of a stream is handed out, what is replaced, after which times, and who hears of it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod answers;
mod backoff;
mod contract;
mod copies;
mod dropping;
mod events;
mod events_serialised;
mod failures;
mod foreign;
mod item_rules;
mod marked;
mod panics;
mod policy_modes;
mod probe;
mod resumed;
mod silence;
#[path = "../support/mod.rs"]
mod support;
mod told;
mod unprobed;
mod until_first_item;
mod whole;
mod world;
