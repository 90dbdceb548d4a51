//! The stream of a script.

use std::{
    collections::VecDeque,
    panic::resume_unwind,
    rc::Rc,
    task::{Poll, Waker},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Frame;

use super::{
    Event, Script,
    driver::{World, of_frame},
    reference::Outcome,
};
use crate::{
    bodies::Counted,
    source::{self, Broken, Item},
};

/// What the panic of a script carries, to be told from a failed assertion.
pub(super) struct ScriptedPanic;

pub(super) struct Stream {
    world: Rc<World>,
    events: VecDeque<Event>,
    end_is_known: bool,
    next: u8,
}

impl Stream {
    pub(super) fn new(world: Rc<World>, script: &Script) -> Self {
        Self { world, end_is_known: script.end_is_known, events: script.events.clone().into(), next: 0 }
    }
}

impl source::Script for Stream {
    fn next(&mut self, waker: &Waker) -> Poll<Item> {
        self.world.registered.take();
        let polled = loop {
            match self.events.pop_front() {
                Some(Event::Meanwhile(actions)) => actions.iter().for_each(|action| self.world.act(action)),
                Some(Event::Pending) => {
                    self.world.registered.replace(Some(waker.clone()));
                    break Poll::Pending;
                }
                Some(Event::Data { length }) => {
                    let frame = Counted::frame(bytes(&mut self.next, length), &self.world.held);
                    break Poll::Ready(Some(Ok(frame)));
                }
                Some(Event::Trailers) => {
                    let trailers =
                        HeaderMap::from_iter([(HeaderName::from_static("sum"), HeaderValue::from_static("1"))]);
                    break Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Some(Event::Error) => break Poll::Ready(Some(Err(Broken))),
                Some(Event::Panic) => resume_unwind(Box::new(ScriptedPanic)),
                None => break Poll::Ready(None),
            }
        };
        let read = match &polled {
            Poll::Pending => Outcome::Pending,
            Poll::Ready(None) => Outcome::End,
            Poll::Ready(Some(Err(Broken))) => Outcome::Broken,
            Poll::Ready(Some(Ok(frame))) => of_frame(frame),
        };
        self.world.read.set(Some(read));
        self.world.at_end.set(self.is_at_end());
        polled
    }

    fn is_at_end(&self) -> bool {
        self.end_is_known && self.events.is_empty()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.world.is_dropped.set(true);
    }
}

/// All that the stream yields to its end, but frames without a byte.
pub(super) fn whole(events: &[Event]) -> Vec<Outcome> {
    let mut next = 0;
    let frames = events.iter().filter_map(|event| match event {
        Event::Data { length } => Some(Outcome::Data(bytes(&mut next, *length))),
        Event::Trailers => Some(Outcome::Trailers),
        _ => None,
    });
    frames.filter(|frame| *frame != Outcome::Data(Vec::new())).collect()
}

/// The next bytes of the stream, each of which is another.
fn bytes(next: &mut u8, length: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (*next..).take(length).collect();
    *next += length as u8;
    bytes
}
