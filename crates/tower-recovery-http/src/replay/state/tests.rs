use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Wake,
};

use super::*;

mod said;

const LIMIT: usize = 4;

/// A source, told apart from others by nothing but its presence.
#[derive(Debug, PartialEq)]
struct Source;

#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Task {
    fn woken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn state() -> State<Source> {
    State::new(Source, Announced { size: SizeHint::with_exact(6), is_end: false }, LIMIT)
}

fn poll(state: &mut State<Source>, copy: Copy, task: &Arc<Task>) -> Step<Source> {
    let mut aftermath = Aftermath::of(Arc::clone(task).into());
    let step = state.poll(copy, &mut aftermath);
    aftermath.settle();
    step
}

fn done(state: &mut State<Source>, copy: Copy) -> Poll<Item> {
    match poll(state, copy, &Arc::default()) {
        Step::Done(done) => done,
        Step::Read(_) => panic!("the source is not to be read"),
    }
}

fn begin(state: &mut State<Source>, copy: Copy, task: &Arc<Task>) {
    assert!(matches!(poll(state, copy, task), Step::Read(Source)));
}

/// Puts the source back, and says whether it was dropped.
fn end(state: &mut State<Source>, copy: Copy, polled: Poll<Item>) -> (Poll<Item>, bool) {
    let mut aftermath = Aftermath::default();
    let given = state.put_back(copy, Source, false, polled, &mut aftermath);
    let dropped = aftermath.source.is_some();
    aftermath.settle();
    (given, dropped)
}

fn read(state: &mut State<Source>, copy: Copy, polled: Poll<Item>) -> Poll<Item> {
    begin(state, copy, &Arc::default());
    end(state, copy, polled).0
}

fn forget(state: &mut State<Source>, copy: Copy) -> bool {
    let mut aftermath = Aftermath::default();
    state.forget(copy, &mut aftermath);
    aftermath.source.is_some()
}

fn data(text: &'static str) -> Poll<Item> {
    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(text.as_bytes())))))
}

fn broken() -> Poll<Item> {
    Poll::Ready(Some(Err("the disk is gone".into())))
}

fn text(polled: Poll<Item>) -> String {
    match polled {
        Poll::Pending => "pending".into(),
        Poll::Ready(None) => "end".into(),
        Poll::Ready(Some(Ok(frame))) => String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap(),
        Poll::Ready(Some(Err(error))) => {
            error.downcast_ref::<ReplayError>().map_or_else(|| error.to_string(), |error| format!("{error:?}"))
        }
    }
}

#[test]
fn who_takes_over_wakes_the_one_before_and_replays_what_that_one_had() {
    let (mut state, first) = (state(), Arc::default());
    assert_eq!(state.try_copy(1), Some(2));
    assert_eq!(text(read(&mut state, 1, data("ab"))), "ab");
    begin(&mut state, 1, &first);
    assert!(end(&mut state, 1, Poll::Pending).0.is_pending());

    assert_eq!(text(done(&mut state, 2)), "ab");
    assert_eq!(first.woken(), 1);
    assert_eq!(text(done(&mut state, 1)), "TakenOver");
    assert_eq!((state.try_copy(1), state.is_repeatable(1)), (None, false));
    assert_eq!(text(read(&mut state, 2, data("cdefgh"))), "cdefgh");
}

#[test]
fn who_takes_over_during_a_read_waits_and_gets_what_it_read_over_the_limit_too() {
    let (mut state, second) = (state(), Arc::default());
    state.try_copy(1);
    begin(&mut state, 1, &Arc::default());
    assert!(matches!(poll(&mut state, 2, &second), Step::Done(Poll::Pending)));
    assert_eq!(state.try_copy(2), Some(3));

    assert_eq!(text(end(&mut state, 1, data("abcdef")).0), "TakenOver");
    assert_eq!(second.woken(), 1);
    assert!(state.is_repeatable(3), "nothing was lost yet");
    assert_eq!(text(done(&mut state, 2)), "abcdef");
    assert!(!state.is_repeatable(3));
    assert_eq!(text(done(&mut state, 3)), "NotReplayable { limit: 4 }");
    assert_eq!(text(read(&mut state, 2, Poll::Ready(None))), "end");
}

#[test]
fn what_was_read_outlives_who_took_over() {
    let mut state = state();
    state.try_copy(1);
    begin(&mut state, 1, &Arc::default());
    assert!(done(&mut state, 2).is_pending());
    state.try_copy(2);
    assert_eq!(text(end(&mut state, 1, data("ab")).0), "TakenOver");
    assert!(!forget(&mut state, 2));
    assert_eq!(text(done(&mut state, 3)), "ab");
}

#[test]
fn a_source_that_comes_back_to_nobody_is_dropped() {
    for polled in [Poll::Pending, Poll::Ready(None), data("ab"), broken()] {
        let mut state = state();
        state.try_copy(1);
        begin(&mut state, 1, &Arc::default());
        assert!(done(&mut state, 2).is_pending());
        assert!(!forget(&mut state, 2));
        let (given, dropped) = end(&mut state, 1, polled);
        assert_eq!((text(given).as_str(), dropped), ("TakenOver", true));
    }
}

#[test]
fn the_source_goes_with_the_last_that_could_read_it() {
    let mut state = state();
    state.try_copy(1);
    assert_eq!(text(read(&mut state, 1, data("ab"))), "ab");
    assert_eq!(text(done(&mut state, 2)), "ab");
    assert!(forget(&mut state, 2), "the first still lives, but cannot read any more");
    assert_eq!(text(done(&mut state, 1)), "TakenOver");
}

#[test]
fn an_error_goes_to_who_reads_and_what_comes_after_says_that_the_source_failed() {
    for taken_over in [false, true] {
        let mut state = state();
        state.try_copy(1);
        begin(&mut state, 1, &Arc::default());
        let reader = if taken_over {
            assert!(done(&mut state, 2).is_pending());
            assert_eq!(state.try_copy(2), Some(3));
            assert_eq!(text(end(&mut state, 1, broken()).0), "TakenOver");
            assert!(!state.is_repeatable(3));
            assert_eq!(text(done(&mut state, 3)), "SourceFailed");
            assert_eq!(text(done(&mut state, 2)), "the disk is gone");
            2
        } else {
            let (given, dropped) = end(&mut state, 1, broken());
            assert_eq!((text(given).as_str(), dropped), ("the disk is gone", true));
            1
        };
        assert_eq!(text(done(&mut state, reader)), "SourceFailed");
        assert_eq!(text(done(&mut state, reader + 1)), "SourceFailed");
        assert_eq!(state.try_copy(reader), None);
    }
}

#[test]
fn a_lost_source_wakes_who_waits_for_it() {
    let (mut state, second) = (state(), Arc::default());
    state.try_copy(1);
    begin(&mut state, 1, &Arc::default());
    assert!(matches!(poll(&mut state, 2, &second), Step::Done(Poll::Pending)));
    let mut aftermath = Aftermath::default();
    state.lose_source(&mut aftermath);
    aftermath.settle();
    assert_eq!(second.woken(), 1);
    assert_eq!(text(done(&mut state, 2)), "SourcePanicked");
    assert_eq!(text(done(&mut state, 1)), "TakenOver");
}

#[test]
fn a_copy_that_cannot_be_sent_whole_takes_nothing_over() {
    let mut state = state();
    state.try_copy(1);
    assert_eq!(text(read(&mut state, 1, data("abcde"))), "abcde");
    assert_eq!(text(done(&mut state, 2)), "NotReplayable { limit: 4 }");
    assert_eq!((state.size_hint(2).exact(), state.is_end_stream(2)), (None, false));
    assert_eq!(text(read(&mut state, 1, data("f"))), "f");
    assert_eq!(state.size_hint(1).exact(), Some(0));
    assert!(!state.is_end_stream(1), "trailers may come");
    assert_eq!(text(read(&mut state, 1, Poll::Ready(None))), "end");
    assert!(state.is_end_stream(1));
}

#[test]
fn the_last_copy_keeps_nothing() {
    let mut state = state();
    assert!(read(&mut state, 1, Poll::Pending).is_pending());
    assert_eq!((state.try_copy(1), state.is_repeatable(1)), (Some(2), true), "nothing was sent yet");
    assert!(!forget(&mut state, 2));
    assert_eq!(text(read(&mut state, 1, data("a"))), "a");
    assert_eq!((state.try_copy(1), state.is_repeatable(1)), (None, false));
}

#[test]
fn the_task_of_a_dropped_copy_is_let_go() {
    let (mut state, first) = (state(), Arc::default());
    state.try_copy(1);
    begin(&mut state, 1, &first);
    assert!(end(&mut state, 1, Poll::Pending).0.is_pending());
    assert_eq!(Arc::strong_count(&first), 2);
    assert!(!forget(&mut state, 1));
    assert_eq!((Arc::strong_count(&first), first.woken()), (1, 0));
}

#[test]
fn a_copy_that_waits_keeps_what_was_kept_and_the_last_one_releases_it() {
    let mut state = state();
    state.try_copy(1);
    state.try_copy(1);
    assert_eq!(text(read(&mut state, 1, data("ab"))), "ab");
    assert_eq!(text(done(&mut state, 2)), "ab");
    assert!(state.is_repeatable(3));
    assert_eq!(text(done(&mut state, 3)), "ab");
    assert_eq!(state.try_copy(3), None, "nobody needed it any more");
}
