//! `RegistrationProbe`: whether the registry still serves this process, and what is done where it does not.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod contract;
mod derived;
mod disconnects;
mod events;
mod origin;
mod outage;
mod own_evictions;
mod panics;
mod reports_of_fleets;
mod reports_of_outages;
mod reports_of_rebuilds;
mod settings;
mod shutdown;
#[path = "../support/mod.rs"]
mod support;
mod world;
