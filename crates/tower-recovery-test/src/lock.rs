//! Mutexes whose poison is ignored.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whether or not a holder panicked.
///
/// Scripts panic on purpose, and no state of this crate is left half-changed by a panic: poison would only hide the test's own failure.
pub(crate) fn lock<Value: ?Sized>(mutex: &Mutex<Value>) -> MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
