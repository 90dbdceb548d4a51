//! The synchronisation that the handle cache is built on, in one place, so that a model checker can stand in for it.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
#[cfg(loom)]
pub(crate) use std::sync::PoisonError;

/// Locks, poisoned or not: no lock of this crate is held over foreign code that could leave its data half changed.
pub(crate) fn lock<Data>(mutex: &Mutex<Data>) -> MutexGuard<'_, Data> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
