//! By what the client is let in.

use std::{fmt, sync::Mutex};

use std::sync::PoisonError;

/// The token that the user gave, and the one that the server gave for coming back.
pub(crate) struct Tokens {
    given: Option<Box<str>>,
    for_reconnecting: Mutex<Option<Box<str>>>,
}

impl Tokens {
    pub(crate) fn new(given: Option<Box<str>>) -> Self {
        Self { given, for_reconnecting: Mutex::default() }
    }

    pub(crate) fn given(&self) -> Option<Box<str>> {
        self.given.clone()
    }

    pub(crate) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    pub(crate) fn for_reconnecting(&self) -> Option<Box<str>> {
        self.lock().clone()
    }

    /// The server gave a new one.
    pub(crate) fn refresh(&self, token: Box<str>) {
        *self.lock() = Some(token);
    }

    /// Who comes back by it is not checked against another client of the same id; so it is for connections that were lost, and not for those that were closed.
    pub(crate) fn forget_if_another_is_there(&self) {
        if self.is_given() {
            self.forget();
        }
    }

    /// The server does not accept it any more.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Box<str>>> {
        self.for_reconnecting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without them.
impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("given", &self.given.is_some()).finish_non_exhaustive()
    }
}
