//! An instance of a service for further attempts.

use crate::sync::{Mutex, lock};

/// An instance that is never readied, so that a clone of it holds no slot. Behind a lock that only a failure path takes.
pub(crate) struct Template<Inner>(Mutex<Inner>);

impl<Inner: Clone> Template<Inner> {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Mutex::new(inner))
    }

    /// An instance for a further attempt, to be readied before it is called.
    pub(crate) fn another(&self) -> Inner {
        lock(&self.0).clone()
    }
}
