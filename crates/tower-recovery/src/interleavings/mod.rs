//! The cache and the budgets under a model checker: the code that ships, with the checker's locks, atomics and threads in place of std's
//! (see [`crate::sync`]).
//!
//! ```text
//! RUSTFLAGS='--cfg interleavings="loom"'    cargo test --release --package tower-recovery --lib interleavings
//! RUSTFLAGS='--cfg interleavings="shuttle"' cargo test --release --package tower-recovery --lib interleavings
//! ```
//!
//! The filter matters: the crate's other tests take locks outside of a model, which neither checker allows.
//!
//! - **loom** tries every order of two callers, and every older value that a weak ordering lets a thread see. Where that takes too long, mostly
//!   because a third thread takes part (it wakes the resolver), the model bounds the [`Interruptions`].
//! - **shuttle** tries random orders of three callers, and orders by probabilistic concurrency testing, from fixed seeds; it knows no older values.
//!
//! A caller that hangs, because its wake-up was lost or a lock was taken twice, is a deadlock, which both report. Neither sees `Arc`'s counts, and
//! there is no clock: a resolve is not bounded in time, and no pause between two of them is waited for.
//!
//! What the models themselves count by is std's and orders nothing for the checker, so that it costs no further orders.

#[cfg_attr(interleavings = "loom", path = "checker/loom.rs")]
#[cfg_attr(interleavings = "shuttle", path = "checker/shuttle.rs")]
pub(crate) mod checker;
mod handles;
mod permits;
mod registry;
mod timers;

use self::checker::{CALLERS, spawn};

/// How often, in one order, a thread may be interrupted where it could have gone on. Most faults show with two.
#[derive(Clone, Copy)]
#[cfg_attr(interleavings = "shuttle", allow(dead_code, reason = "shuttle samples the orders and needs no bound"))]
pub(crate) enum Interruptions {
    Any,
    UpTo(usize),
}

/// Does this in one thread a caller, this one among them, and gives what each came to.
fn together<Outcome: Send + 'static>(act: impl Fn() -> Outcome + Clone + Send + 'static) -> Vec<Outcome> {
    let others: Vec<_> = (1..CALLERS).map(|_| spawn(act.clone())).collect();
    let mut outcomes = vec![act()];
    outcomes.extend(others.into_iter().map(|other| other.join().unwrap()));
    outcomes
}
