//! What a copy says of itself.

use super::*;

/// Puts back a source that says that it is at its end.
fn end_last(state: &mut State<Source>, copy: Copy, polled: Poll<Item>) -> Poll<Item> {
    state.put_back(copy, Source, true, polled, &mut Aftermath::default())
}

#[test]
fn a_body_that_was_announced_as_empty_and_broke_is_not_at_its_end() {
    let announced = Announced { size: SizeHint::with_exact(0), is_end: true };
    let mut state = State::new(Source, announced, LIMIT);
    state.try_copy(1);
    assert!(state.is_end_stream(1) && state.is_end_stream(2));
    assert_eq!(text(read(&mut state, 1, broken())), "the disk is gone");
    assert!(!state.is_end_stream(1) && !state.is_end_stream(2));
    assert_eq!(state.size_hint(2).exact(), None);
}

#[test]
fn a_frame_without_a_byte_counts_for_nothing() {
    let mut state = state();
    assert_eq!(text(read(&mut state, 1, data(""))), "");
    assert_eq!((state.is_repeatable(1), state.try_copy(1)), (true, Some(2)));
    assert_eq!(text(read(&mut state, 1, data("a"))), "a");
    assert_eq!((state.is_repeatable(1), state.is_repeatable(2)), (false, true));
    assert_eq!(text(done(&mut state, 2)), "a", "the empty one was not kept");
}

#[test]
fn who_is_sent_announces_the_rest_and_who_waits_the_whole() {
    let mut size = SizeHint::new();
    size.set_lower(3);
    size.set_upper(6);
    let mut state = State::new(Source, Announced { size, is_end: false }, LIMIT);
    state.try_copy(1);
    let bounds = |state: &State<Source>, copy| (state.size_hint(copy).lower(), state.size_hint(copy).upper());
    assert_eq!(bounds(&state, 1), (3, Some(6)));
    assert_eq!(text(read(&mut state, 1, data("ab"))), "ab");
    assert_eq!((bounds(&state, 1), bounds(&state, 2)), ((1, Some(4)), (3, Some(6))));
    assert_eq!(text(done(&mut state, 2)), "ab");
    assert_eq!((bounds(&state, 1), bounds(&state, 2)), ((0, None), (1, Some(4))));
}

#[test]
fn nobody_is_at_the_end_before_having_had_everything() {
    let mut state = state();
    state.try_copy(1);
    state.try_copy(1);
    assert_eq!(text(read(&mut state, 1, data("a"))), "a");
    begin(&mut state, 1, &Arc::default());
    assert_eq!(text(done(&mut state, 2)), "a");
    assert_eq!(text(end_last(&mut state, 1, data("b"))), "TakenOver");
    assert!(!state.is_end_stream(2), "what the one before read is still to come");
    assert_eq!(text(done(&mut state, 2)), "b");
    assert!(state.is_end_stream(2) && !state.is_end_stream(3));

    assert_eq!(text(done(&mut state, 3)), "a");
    assert!(!state.is_end_stream(3), "there is more in what was kept");
    assert_eq!(text(done(&mut state, 3)), "b");
    assert!(state.is_end_stream(3) && !state.is_end_stream(2));
    assert_eq!(state.size_hint(3).exact(), Some(0));
}
