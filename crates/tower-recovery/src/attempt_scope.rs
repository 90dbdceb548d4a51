//! What the retry layer tells whoever runs an attempt, whatever layers stand in between.
//!
//! It is said while the attempt is called, or polled, and heard in the same moment, on the same thread. A layer that calls or polls what is below it at another time (a buffer, a spawned
//! task) makes it unheard: then an attempt is waited for that might have been given up, and less is proven than might have been.

use std::cell::Cell;

thread_local! {
    static MAY_BE_GIVEN_UP: Cell<bool> = const { Cell::new(false) };
    static IS_LAST_POLL: Cell<bool> = const { Cell::new(false) };
}

/// Calls an attempt, which may be given up before it fails or may not.
pub(crate) fn calling<Attempt>(may_be_given_up: bool, call: impl FnOnce() -> Attempt) -> Attempt {
    // Most attempts have nothing to say, where nothing is said.
    if !may_be_given_up && !MAY_BE_GIVEN_UP.get() {
        return call();
    }
    said(&MAY_BE_GIVEN_UP, may_be_given_up, call)
}

/// Whether the attempt that is being called may be given up before it fails.
pub(crate) fn may_be_given_up() -> bool {
    MAY_BE_GIVEN_UP.get()
}

/// Polls an attempt for the last time: it is dropped then.
pub(crate) fn polling_last<Polled>(poll: impl FnOnce() -> Polled) -> Polled {
    said(&IS_LAST_POLL, true, poll)
}

/// Whether this is the last poll. What has not sent its request by now must not send it any more, and can say so.
pub(crate) fn is_last_poll() -> bool {
    IS_LAST_POLL.get()
}

fn said<Done>(word: &'static std::thread::LocalKey<Cell<bool>>, holds: bool, act: impl FnOnce() -> Done) -> Done {
    let _before = Before { word, held: word.replace(holds) };
    act()
}

/// What held before, put back also where the act panics.
struct Before {
    word: &'static std::thread::LocalKey<Cell<bool>>,
    held: bool,
}

impl Drop for Before {
    fn drop(&mut self) {
        self.word.set(self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_for_the_call_alone_and_an_inner_one_goes_before_it() {
        assert!(!may_be_given_up());
        calling(true, || {
            assert!(may_be_given_up() && !is_last_poll());
            calling(false, || assert!(!may_be_given_up()));
            assert!(may_be_given_up());
        });
        polling_last(|| assert!(is_last_poll() && !may_be_given_up()));
        assert!(!may_be_given_up() && !is_last_poll());
    }

    #[test]
    fn a_call_that_panics_leaves_nothing_behind() {
        let panic = std::panic::catch_unwind(|| calling(true, || panic!("in the call")));
        assert!(panic.is_err() && !may_be_given_up());
    }
}
