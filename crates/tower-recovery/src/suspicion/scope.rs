//! Which attempts may be given up before they fail: a word from the retry layer to whoever runs the attempt.
//!
//! It is said while the attempt is being called and heard in the same moment, on the same thread, whatever layers stand in between. A layer that
//! calls what is below it later (a buffer, a spawned task) makes it unheard: then nothing is given up.

use std::cell::Cell;

thread_local! {
    static MAY_BE_GIVEN_UP: Cell<bool> = const { Cell::new(false) };
}

/// Calls an attempt of which this holds, for as long as the call lasts.
pub(crate) fn calling<Attempt>(may_be_given_up: bool, call: impl FnOnce() -> Attempt) -> Attempt {
    // Most attempts have nothing to say, where nothing is said.
    if !may_be_given_up && !MAY_BE_GIVEN_UP.get() {
        return call();
    }
    let _outer = Outer(MAY_BE_GIVEN_UP.replace(may_be_given_up));
    call()
}

/// Whether the attempt that is being called may be given up.
pub(crate) fn may_be_given_up() -> bool {
    MAY_BE_GIVEN_UP.get()
}

/// What held before, put back also where the call panics.
struct Outer(bool);

impl Drop for Outer {
    fn drop(&mut self) {
        MAY_BE_GIVEN_UP.set(self.0);
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
    fn a_call_that_panics_leaves_nothing_behind() {
        let panic = std::panic::catch_unwind(|| calling(true, || panic!("in the call")));
        assert!(panic.is_err() && !may_be_given_up());
    }
}
