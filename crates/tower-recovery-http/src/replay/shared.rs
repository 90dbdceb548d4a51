//! The state behind its lock, and the polling of the source outside of it.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use http_body::{Body, SizeHint};
use tower::BoxError;

use super::{
    in_bytes::InBytes,
    state::{Aftermath, Announced, Copy, Item, State, Step},
};

// Boxed, since it is moved out of the lock to be polled.
type Source<Stream> = Pin<Box<InBytes<Stream>>>;

/// One copy of a stream.
pub(super) struct Shared<Stream> {
    copy: Copy,
    state: Arc<Mutex<State<Source<Stream>>>>,
}

impl<Stream> Shared<Stream>
where
    Stream: Body,
    Stream::Error: Into<BoxError>,
{
    pub(super) fn new(stream: Stream, limit: usize) -> Self {
        let at_start = Announced { size: stream.size_hint(), is_end: stream.is_end_stream() };
        Self { copy: 1, state: Arc::new(Mutex::new(State::new(Box::pin(InBytes::new(stream)), at_start, limit))) }
    }

    pub(super) fn poll_frame(&self, context: &mut Context<'_>) -> Poll<Item> {
        let mut aftermath = Aftermath::of(context.waker().clone());
        let step = self.lock().poll(self.copy, &mut aftermath);
        match step {
            Step::Done(done) => {
                aftermath.settle();
                done
            }
            Step::Read(source) => self.read(source, aftermath, context),
        }
    }

    fn read(
        &self,
        mut source: Source<Stream>,
        before: Aftermath<Source<Stream>>,
        context: &mut Context<'_>,
    ) -> Poll<Item> {
        // Whatever panics from here on, the others hear of it.
        let reading = Reading { by: self };
        before.settle();
        let polled = source.as_mut().poll_frame(context);
        let is_at_end = source.is_end_stream();
        std::mem::forget(reading);
        let mut aftermath = Aftermath::default();
        let polled = self.lock().put_back(self.copy, source, is_at_end, polled, &mut aftermath);
        aftermath.settle();
        polled
    }
}

impl<Stream> Shared<Stream> {
    pub(super) fn try_copy(&self) -> Option<Self> {
        let copy = self.lock().try_copy(self.copy)?;
        Some(Self { copy, state: Arc::clone(&self.state) })
    }

    pub(super) fn is_repeatable(&self) -> bool {
        self.lock().is_repeatable(self.copy)
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.lock().size_hint(self.copy)
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.lock().is_end_stream(self.copy)
    }

    /// Poisoned or not: nothing foreign runs under this lock that could leave the state half changed.
    fn lock(&self) -> MutexGuard<'_, State<Source<Stream>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Stream> Drop for Shared<Stream> {
    fn drop(&mut self) {
        let mut aftermath = Aftermath::default();
        self.lock().forget(self.copy, &mut aftermath);
        aftermath.settle();
    }
}

/// Dropped by a panic while the source is out of the lock.
struct Reading<'shared, Stream> {
    by: &'shared Shared<Stream>,
}

impl<Stream> Drop for Reading<'_, Stream> {
    fn drop(&mut self) {
        let mut aftermath = Aftermath::default();
        self.by.lock().lose_source(&mut aftermath);
        aftermath.settle();
    }
}
