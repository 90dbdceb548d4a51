//! Does what a script says, to the body and to the reference.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tower_recovery_http::{RepeatableBody, ReplayableBody};

use super::{
    Action, Script,
    reference::{Expected, Outcome, Reference},
    stream::{ScriptedPanic, Stream, whole},
};
use crate::source::{Broken, Source};

type Copy = ReplayableBody<Source<Stream>>;

pub(crate) fn run(script: &Script) {
    let whole = whole(&script.events);
    let length = whole.iter().map(|frame| if let Outcome::Data(bytes) = frame { bytes.len() as u64 } else { 0 }).sum();
    let world = Rc::new(World {
        reference: RefCell::new(Reference::new(script.limit, script.end_is_known && script.events.is_empty())),
        copies: RefCell::default(),
        newest: Cell::new(1),
        read: Cell::default(),
        at_end: Cell::default(),
        registered: RefCell::default(),
        held: Arc::default(),
        is_dropped: Cell::default(),
        length: script.size_is_known.then_some(length),
        whole,
    });
    let stream = Stream::new(Rc::clone(&world), script);
    world.insert(1, ReplayableBody::new(Source::new(stream).of_size(world.length), script.limit));
    for action in &script.actions {
        world.act(action);
    }
    // The copies refer to the world.
    for copy in world.resting() {
        world.forget(copy);
        world.check_the_whole();
    }
    assert!(world.is_dropped.get());
    assert_eq!(world.held.load(Ordering::Relaxed), 0);
}

pub(super) struct World {
    reference: RefCell<Reference>,
    copies: RefCell<BTreeMap<usize, Slot>>,
    newest: Cell<usize>,
    /// What the stream has just given.
    pub(super) read: Cell<Option<Outcome>>,
    /// Whether it has said that nothing more will come.
    pub(super) at_end: Cell<bool>,
    /// The waker that the stream was given when it had nothing.
    pub(super) registered: RefCell<Option<Waker>>,
    /// Bytes of data frames that somebody holds.
    pub(super) held: Arc<AtomicUsize>,
    pub(super) is_dropped: Cell<bool>,
    length: Option<u64>,
    whole: Vec<Outcome>,
}

struct Slot {
    /// Away while it is polled.
    body: Option<Copy>,
    task: Arc<Task>,
    /// How often its task had been woken when it was last polled, if it waits since then.
    waits_since: Option<usize>,
    yielded: Vec<Outcome>,
}

#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl World {
    fn insert(&self, copy: usize, body: Copy) {
        self.reference.borrow_mut().copied(copy);
        let slot = Slot { body: Some(body), task: Arc::default(), waits_since: None, yielded: Vec::new() };
        self.copies.borrow_mut().insert(copy, slot);
    }

    /// The copies that nobody polls at this moment.
    fn resting(&self) -> Vec<usize> {
        let copies = self.copies.borrow();
        copies.iter().filter(|(_, slot)| slot.body.is_some()).map(|(&copy, _)| copy).collect()
    }

    pub(super) fn act(&self, action: &Action) {
        let (Action::Poll(index) | Action::Copy(index) | Action::Drop(index)) = action;
        let resting = self.resting();
        if resting.is_empty() {
            return;
        }
        let copy = *index.get(&resting);
        match action {
            Action::Poll(_) => self.poll(copy),
            Action::Copy(_) => self.copy(copy),
            Action::Drop(_) => self.forget(copy),
        }
        self.check_the_whole();
        self.resting().into_iter().for_each(|copy| self.check(copy));
    }

    fn copy(&self, copy: usize) {
        let made = self.copies.borrow()[&copy].body.as_ref().expect("it rests").try_copy();
        assert_eq!(made.is_some(), self.reference.borrow().can_be_copied(copy), "whether {copy} can be copied");
        if let Some(made) = made {
            self.newest.set(self.newest.get() + 1);
            self.insert(self.newest.get(), made);
        }
    }

    fn forget(&self, copy: usize) {
        self.reference.borrow_mut().dropped(copy);
        let dropped = self.copies.borrow_mut().remove(&copy);
        drop(dropped);
    }

    fn poll(&self, copy: usize) {
        let (mut body, task) = {
            let mut copies = self.copies.borrow_mut();
            let slot = copies.get_mut(&copy).expect("it lives");
            slot.waits_since = None;
            (slot.body.take().expect("it rests"), Arc::clone(&slot.task))
        };
        let woken = task.0.load(Ordering::Relaxed);
        let was_at_end = body.is_end_stream();
        let waker = Waker::from(Arc::clone(&task));

        let expected = self.reference.borrow_mut().poll(copy);
        let polled =
            catch_unwind(AssertUnwindSafe(|| Pin::new(&mut body).poll_frame(&mut Context::from_waker(&waker))));
        let outcome = match polled {
            Ok(polled) => outcome(polled),
            Err(panic) if panic.is::<ScriptedPanic>() => {
                self.read.set(Some(Outcome::Panicked));
                Outcome::Panicked
            }
            Err(panic) => resume_unwind(panic),
        };
        let read = self.read.take();
        let expected = match expected {
            Expected::Outcome(expected) => {
                assert_eq!(read, None, "the stream was not to be polled for {copy}");
                expected
            }
            Expected::Read => self.reference.borrow_mut().after_read(
                copy,
                read.expect("the stream was to be polled"),
                self.at_end.get(),
            ),
        };
        assert_eq!(outcome, expected, "a poll of {copy}");
        assert!(!was_at_end || outcome == Outcome::End, "{copy} said that it was at its end");

        let mut copies = self.copies.borrow_mut();
        let slot = copies.get_mut(&copy).expect("it lives");
        slot.body = Some(body);
        match outcome {
            Outcome::Pending => slot.waits_since = Some(woken),
            Outcome::Data(bytes) if bytes.is_empty() => {}
            frame @ (Outcome::Data(_) | Outcome::Trailers) => slot.yielded.push(frame),
            Outcome::End => assert_eq!(slot.yielded, self.whole, "{copy} has ended"),
            Outcome::Broken | Outcome::Refused(_) | Outcome::Panicked => {}
        }
    }

    fn check_the_whole(&self) {
        let reference = self.reference.borrow();
        assert_eq!(self.held.load(Ordering::Relaxed), reference.held(), "bytes that are held");
        if !reference.is_reading() {
            assert_eq!(self.is_dropped.get(), reference.needs_no_stream(), "whether the stream is dropped");
        }
    }

    /// What this copy says of itself, and that it does not wait for nothing.
    fn check(&self, copy: usize) {
        let (reference, copies) = (self.reference.borrow(), self.copies.borrow());
        let slot = &copies[&copy];
        let body = slot.body.as_ref().expect("it rests");
        assert_eq!(body.is_repeatable(), reference.is_repeatable(copy), "whether {copy} is repeatable");
        assert_eq!(body.is_end_stream(), reference.is_at_end(copy), "whether {copy} is at its end");
        let length = match self.length {
            _ if copy == reference.owner && reference.has_ended() => Some(0),
            Some(length) if copy == reference.owner => Some(length - reference.given() as u64),
            Some(length) if reference.is_repeatable(copy) => Some(length),
            _ => None,
        };
        assert_eq!(body.size_hint().exact(), length, "the rest of {copy}");

        let Some(woken) = slot.waits_since else { return };
        let is_woken = slot.task.0.load(Ordering::Relaxed) > woken;
        let waker = Waker::from(Arc::clone(&slot.task));
        let will_be = self.registered.borrow().as_ref().is_some_and(|registered| registered.will_wake(&waker));
        let waits = copy == reference.owner && (reference.is_reading() || will_be);
        assert!(is_woken || waits, "{copy} waits, and nobody will wake it");
    }
}

pub(super) fn of_frame(frame: &Frame<Bytes>) -> Outcome {
    frame.data_ref().map_or(Outcome::Trailers, |data| Outcome::Data(data.to_vec()))
}

fn outcome(polled: Poll<Option<Result<Frame<Bytes>, tower::BoxError>>>) -> Outcome {
    match polled {
        Poll::Pending => Outcome::Pending,
        Poll::Ready(None) => Outcome::End,
        Poll::Ready(Some(Ok(frame))) => of_frame(&frame),
        Poll::Ready(Some(Err(error))) if error.is::<Broken>() => Outcome::Broken,
        Poll::Ready(Some(Err(error))) => Outcome::Refused(*error.downcast_ref().expect("an error of the copy's own")),
    }
}
