//! What orders threads, and the timers that bound a resolve, in one place, so that a model checker can stand in for both.
//!
//! It does so in this crate's own tests alone, and by a name of its own (`cfg(interleavings)`): with `cfg(loom)`, tokio leaves out parts of
//! itself, and this crate would stop working in the tests of those who check code of theirs that way.

use std::sync::PoisonError;

#[cfg(not(all(test, any(interleavings = "loom", interleavings = "shuttle"))))]
pub(crate) use {
    std::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    tokio::time::{sleep_until, timeout},
};

#[cfg(all(test, any(interleavings = "loom", interleavings = "shuttle")))]
pub(crate) use crate::interleavings::checker::{
    AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, sleep_until, timeout,
};

/// Locks, poisoned or not: no lock of this crate is held over foreign code that could leave its data half changed.
pub(crate) fn lock<Data>(mutex: &Mutex<Data>) -> MutexGuard<'_, Data> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
