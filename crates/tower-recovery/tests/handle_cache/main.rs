//! `HandleCache`: one resolve for all who wait, eviction by generation, floors and refreshes.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod busy;
mod dropping;
mod eviction;
mod floor;
mod refresh;
mod refreshing;
mod single_flight;
#[path = "../support/mod.rs"]
mod support;
mod telling;

use tokio_test::task::{self, Spawn};
use tower_recovery::{Acquire, HandleCache, Held};

/// A handle that says who it is.
type Name = &'static str;

/// A caller that waits for a handle, polled by hand.
fn caller(cache: &HandleCache<Name>) -> Spawn<Acquire<Name>> {
    task::spawn(cache.acquire())
}

/// The handle and the generation under which it was given.
fn seen(held: &Held<Name>) -> (Name, u64) {
    (held.handle, held.lease.generation().get())
}
