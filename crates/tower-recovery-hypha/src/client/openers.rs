//! Those who open a client at one time: whether it is to be closed again when that fails, and by whom.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Openers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    number: usize,
    /// The client was closed when the first of them came, and nobody has opened it for good since.
    was_closed: bool,
}

/// One of them.
#[derive(Debug)]
#[must_use = "dropping it leaves the client open"]
pub(crate) struct Opener<'a> {
    openers: &'a Openers,
    is_waiting: bool,
}

impl Openers {
    /// Somebody opens the client, which is closed until now or is not.
    pub(crate) fn enter(&self, was_closed: bool) -> Opener<'_> {
        let mut state = self.lock();
        state.number += 1;
        state.was_closed |= was_closed;
        Opener { openers: self, is_waiting: true }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opener<'_> {
    /// Whether the client is to be closed by this one: it was closed before, it was not opened, and nobody else waits for it.
    pub(crate) fn leave(&mut self, is_opened: bool) -> bool {
        self.is_waiting = false;
        let mut state = self.openers.lock();
        state.number -= 1;
        if is_opened {
            state.was_closed = false;
        }
        state.number == 0 && std::mem::take(&mut state.was_closed)
    }
}

/// Who does not wait to the end wants it open all the same.
impl Drop for Opener<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            let mut state = self.openers.lock();
            state.number -= 1;
            state.was_closed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_those_who_failed_closes_what_was_closed() {
        let openers = Openers::default();
        let (mut first, mut second) = (openers.enter(true), openers.enter(false));
        assert_eq!((first.leave(false), second.leave(false)), (false, true));
        assert!(!openers.enter(false).leave(false), "it was open");
    }

    #[test]
    fn nobody_closes_what_another_one_opened_or_wants_open() {
        let openers = Openers::default();
        let (mut first, mut second) = (openers.enter(true), openers.enter(false));
        assert_eq!((first.leave(true), second.leave(false)), (false, false));
        let (mut first, second) = (openers.enter(true), openers.enter(false));
        drop(second);
        assert!(!first.leave(false), "who was dropped did not take it back");
    }
}
