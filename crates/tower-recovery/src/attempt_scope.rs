//! What the retry layer tells whoever runs an attempt, whatever layers stand in between.
//!
//! It is said while the attempt is called, and anew whenever it is polled, and heard in the same moment, on the same thread. A layer that calls or polls what is below it elsewhere (a
//! buffer, a spawned task) makes it unheard: then an attempt is waited for that might have been given up, and less is proven than might have been. The words of a call and of a poll are
//! told apart: a handle that is called while the attempt is polled is not that attempt.

use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Nothing,
    /// What is being called is an attempt of a call that has a deadline.
    Called,
    /// What is being called may be given up before it fails.
    CalledUntilInDoubt,
    /// What is being polled may be given up still.
    Polled,
    /// What is being polled is dropped then.
    PolledLast,
}

/// What is said back on the last poll.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Waits,
    MayHaveSent,
}

thread_local! {
    static WORD: Cell<Word> = const { Cell::new(Word::Nothing) };
    static HEARD: Cell<Heard> = const { Cell::new(Heard::Nothing) };
}

/// Calls an attempt, of a call with a deadline or without one, which may be given up before it fails or may not.
#[inline]
pub(crate) fn calling<Attempt>(has_deadline: bool, may_be_given_up: bool, call: impl FnOnce() -> Attempt) -> Attempt {
    // Mostly there is nothing to say, where nothing was said.
    if !may_be_given_up && !has_deadline && WORD.get() == Word::Nothing {
        return call();
    }
    saying(
        match (may_be_given_up, has_deadline) {
            (true, _) => Word::CalledUntilInDoubt,
            (false, true) => Word::Called,
            (false, false) => Word::Nothing,
        },
        call,
    )
}

/// Polls an attempt, which may be given up still or may not.
pub(crate) fn polling<Polled>(may_be_given_up: bool, poll: impl FnOnce() -> Polled) -> Polled {
    saying(if may_be_given_up { Word::Polled } else { Word::Nothing }, poll)
}

/// Polls an attempt for the last time: it is dropped then. Tells also whether it was never sent: whoever runs it still waits for a handle, and nobody within it has sent anything.
pub(crate) fn polling_last<Polled>(poll: impl FnOnce() -> Polled) -> (Polled, bool) {
    let before = HEARD.replace(Heard::Nothing);
    let polled = saying(Word::PolledLast, poll);
    (polled, HEARD.replace(before) == Heard::Waits)
}

/// Polls what is nobody's attempt, and may be polled by anybody's.
pub(crate) fn saying_nothing<Polled>(poll: impl FnOnce() -> Polled) -> Polled {
    saying(Word::Nothing, poll)
}

/// Whether the attempt that is being called may be given up before it fails.
pub(crate) fn may_be_given_up() -> bool {
    WORD.get() == Word::CalledUntilInDoubt
}

/// Whether what is being called is the attempt itself. What is called while an attempt is polled may be a request of its own, beside what it was called for: that it waits proves nothing.
#[inline]
pub(crate) fn is_called() -> bool {
    matches!(WORD.get(), Word::Called | Word::CalledUntilInDoubt)
}

/// Whether the attempt that is being polled, of which that was said when it was called, may be given up still.
pub(crate) fn may_still_be_given_up() -> bool {
    WORD.get() == Word::Polled
}

/// Whether this is the last poll. What has no handle by now must not send its request any more, and says so: [`waits`].
pub(crate) fn is_last_poll() -> bool {
    WORD.get() == Word::PolledLast
}

/// On the last poll: the request was not sent, as far as this one knows.
pub(crate) fn waits() {
    if is_last_poll() && HEARD.get() == Heard::Nothing {
        HEARD.set(Heard::Waits);
    }
}

/// On the last poll: a request may have been sent. There may be others beside it (of a hedging layer, of a handle's own, of the attempts of a stack below), so this outweighs whoever waits.
pub(crate) fn may_have_sent() {
    if is_last_poll() {
        HEARD.set(Heard::MayHaveSent);
    }
}

fn saying<Done>(word: Word, act: impl FnOnce() -> Done) -> Done {
    let _before = Before(WORD.replace(word));
    act()
}

/// What was said before, put back also where the act panics.
struct Before(Word);

impl Drop for Before {
    fn drop(&mut self) {
        WORD.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_for_the_call_alone_and_an_inner_one_goes_before_it() {
        assert!(!may_be_given_up());
        calling(true, true, || {
            assert!(may_be_given_up());
            calling(false, false, || assert!(!may_be_given_up() && !is_called()));
            calling(true, false, || assert!(!may_be_given_up() && is_called()));
            assert!(may_be_given_up() && is_called());
        });
        assert!(!may_be_given_up());
    }

    #[test]
    fn what_is_called_while_an_attempt_is_polled_is_not_that_attempt() {
        polling(true, || {
            assert!(may_still_be_given_up() && !may_be_given_up() && !is_last_poll());
            calling(true, true, || assert!(may_be_given_up() && !may_still_be_given_up()));
            polling(false, || assert!(!may_still_be_given_up()));
        });
        polling_last(|| {
            assert!(is_last_poll() && !may_still_be_given_up());
            polling(false, || assert!(!is_last_poll()));
            saying_nothing(|| assert!(!is_last_poll()));
            assert!(is_last_poll());
        });
        assert!(!may_still_be_given_up() && !is_last_poll());
    }

    #[test]
    fn on_the_last_poll_whoever_may_have_sent_outweighs_whoever_waits() {
        waits();
        assert!(!polling_last(|| {}).1, "what is said at another time is not heard");
        assert!(polling_last(waits).1);
        let waits_first = polling_last(|| {
            waits();
            may_have_sent();
        });
        let waits_last = polling_last(|| {
            may_have_sent();
            waits();
        });
        assert!(!waits_first.1 && !waits_last.1);
        let inner = polling_last(|| polling_last(waits).1);
        assert_eq!(inner, (true, false), "an inner call's is its own");
    }

    #[test]
    fn a_call_that_panics_leaves_nothing_behind() {
        let panic = std::panic::catch_unwind(|| calling(true, true, || panic!("in the call")));
        assert!(panic.is_err() && !may_be_given_up());
    }
}
