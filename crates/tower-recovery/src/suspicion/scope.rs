//! Which attempts may be given up before they fail: a word from the retry layer to whoever runs the attempt.
//!
//! It is said while the attempt is being called, and again whenever it is polled, since a copy may lose its beginning meanwhile. It is heard in the same
//! moment, on the same thread, whatever layers stand in between. A layer that calls or polls what is below it elsewhere (a buffer, a spawned task) makes it
//! unheard: then nothing is given up. The two words are told apart: a handle that is called while the attempt is polled is not that attempt.

use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Nothing,
    /// What is being called may be given up.
    Called,
    /// What is being polled may be given up still.
    Polled,
}

thread_local! {
    static WORD: Cell<Word> = const { Cell::new(Word::Nothing) };
}

/// Calls an attempt of which this holds.
pub(crate) fn calling<Attempt>(may_be_given_up: bool, call: impl FnOnce() -> Attempt) -> Attempt {
    saying(if may_be_given_up { Word::Called } else { Word::Nothing }, call)
}

/// Polls an attempt of which this holds still.
pub(crate) fn polling<Polled>(may_be_given_up: bool, poll: impl FnOnce() -> Polled) -> Polled {
    saying(if may_be_given_up { Word::Polled } else { Word::Nothing }, poll)
}

/// Whether the attempt that is being called may be given up.
pub(crate) fn may_be_given_up() -> bool {
    WORD.get() == Word::Called
}

/// Whether the attempt that is being polled, of which that was said when it was called, may be given up still.
pub(crate) fn may_still_be_given_up() -> bool {
    WORD.get() == Word::Polled
}

fn saying<Outcome>(word: Word, run: impl FnOnce() -> Outcome) -> Outcome {
    let _outer = Outer(WORD.replace(word));
    run()
}

/// What was said before, put back also where the call panics.
struct Outer(Word);

impl Drop for Outer {
    fn drop(&mut self) {
        WORD.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_holds_for_the_call_alone_and_an_inner_one_goes_before_it() {
        assert!(!may_be_given_up());
        calling(true, || {
            assert!(may_be_given_up());
            calling(false, || assert!(!may_be_given_up()));
            assert!(may_be_given_up());
        });
        assert!(!may_be_given_up());
    }

    #[test]
    fn what_is_called_while_an_attempt_is_polled_is_not_that_attempt() {
        polling(true, || {
            assert!(may_still_be_given_up() && !may_be_given_up());
            calling(true, || assert!(may_be_given_up() && !may_still_be_given_up()));
            polling(false, || assert!(!may_still_be_given_up()));
        });
        assert!(!may_still_be_given_up());
    }

    #[test]
    fn a_call_that_panics_leaves_nothing_behind() {
        let panic = std::panic::catch_unwind(|| calling(true, || panic!("in the call")));
        assert!(panic.is_err() && !may_be_given_up());
    }
}
