//! loom.

pub(crate) use loom::{
    future::block_on,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::spawn,
};

use super::Interruptions;
pub(crate) use super::timers::{sleep_until, timeout};

/// How many callers a model has.
pub(crate) const CALLERS: usize = 2;

/// Runs the model in every order, but for those with more interruptions than these.
pub(crate) fn explore(interruptions: Interruptions, model: impl Fn() + Send + Sync + 'static) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = match interruptions {
        Interruptions::Any => None,
        Interruptions::UpTo(most) => Some(most),
    };
    checker.check(model);
}
