//! Who is being sent, what was kept, and where the source is: pure, without a lock and without polling anything.
//!
//! Copies have numbers that grow. The *owner* is the newest copy that was polled; it alone reads the source. Newer copies *wait* from the
//! start of the body; older ones were taken over and get nothing more. So there is one position in the body, the owner's.

mod said;
mod step;
#[cfg(test)]
mod tests;

use std::task::{Poll, Waker};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tower::BoxError;

pub(super) use self::step::{Aftermath, Item, Step};
use super::{ReplayError, buffer::Buffer};

/// The number of a copy; the first body has 1.
pub(super) type Copy = u64;

pub(super) struct State<Source> {
    source: SourceState<Source>,
    /// Whether the source said, after it was polled last, that it is at its end.
    source_at_end: bool,
    /// Read for an owner that had been taken over by then: it is the next thing for the one who took over.
    arrived: Option<Result<Frame<Bytes>, BoxError>>,
    buffer: Buffer,
    /// 0 before any copy was polled.
    owner: Copy,
    owner_lives: bool,
    /// Whether the owner was given anything that counts, and how many bytes.
    started: bool,
    given_bytes: u64,
    /// The owner's, from its last poll: who takes over wakes it, so that it hears of it.
    waker: Option<Waker>,
    /// The copies that are newer than the owner, in order.
    waiting: Vec<Copy>,
    newest: Copy,
    /// What the source said before it was polled. Copies say the same, so that each is sent with the framing of the first: a size that was
    /// learned later would turn a chunked body with trailers into one with a content-length and without them.
    at_start: Announced,
}

#[derive(Clone, Copy)]
pub(super) struct Announced {
    pub(super) size: SizeHint,
    pub(super) is_end: bool,
}

enum SourceState<Source> {
    // Idle => Polled
    Idle(Source),
    // Polled => Idle | Ended | Gone
    Polled,
    Ended,
    Gone(ReplayError),
}

impl<Source> State<Source> {
    pub(super) fn new(source: Source, at_start: Announced, limit: usize) -> Self {
        Self {
            source: SourceState::Idle(source),
            source_at_end: at_start.is_end,
            arrived: None,
            buffer: Buffer::new(limit),
            owner: 0,
            owner_lives: false,
            started: false,
            given_bytes: 0,
            waker: None,
            waiting: vec![1],
            newest: 1,
            at_start,
        }
    }

    /// A new copy, from the start.
    pub(super) fn try_copy(&mut self, copy: Copy) -> Option<Copy> {
        if copy < self.owner || self.unrepeatable().is_some() {
            return None;
        }
        self.newest += 1;
        self.waiting.push(self.newest);
        Some(self.newest)
    }

    pub(super) fn poll(&mut self, copy: Copy, aftermath: &mut Aftermath<Source>) -> Step<Source> {
        if copy < self.owner {
            return Step::Done(failed(ReplayError::TakenOver));
        }
        if copy > self.owner {
            if let Some(error) = self.unrepeatable() {
                return Step::Done(failed(error));
            }
            self.take_over(copy, aftermath);
        }
        std::mem::swap(&mut self.waker, &mut aftermath.waker);
        if let Some(frame) = self.buffer.replay(!self.waiting.is_empty()) {
            self.count(&frame);
            return Step::Done(Poll::Ready(Some(Ok(frame))));
        }
        if let Some(arrived) = self.arrived.take() {
            return Step::Done(Poll::Ready(Some(self.give(arrived, aftermath))));
        }
        match std::mem::replace(&mut self.source, SourceState::Polled) {
            SourceState::Idle(source) => return Step::Read(source),
            // An older copy reads at this moment, in another thread, and wakes this one when it puts the source back.
            SourceState::Polled => return Step::Done(Poll::Pending),
            rest @ (SourceState::Ended | SourceState::Gone(_)) => self.source = rest,
        }
        match self.source {
            SourceState::Gone(error) => Step::Done(failed(error)),
            _ => Step::Done(Poll::Ready(None)),
        }
    }

    /// Takes the source back, with what polling it has given, and says what that is to the copy that polled it.
    pub(super) fn put_back(
        &mut self,
        copy: Copy,
        source: Source,
        is_at_end: bool,
        polled: Poll<Item>,
        aftermath: &mut Aftermath<Source>,
    ) -> Poll<Item> {
        let read = match polled {
            Poll::Pending => None,
            Poll::Ready(item) => Some(item),
        };
        if matches!(self.source, SourceState::Gone(_)) {
            // Everybody who could have been given the rest went away in the meantime.
            aftermath.source = Some(source);
            aftermath.unread = read.flatten();
            return failed(ReplayError::TakenOver);
        }
        let (state, left_over) = match &read {
            Some(None) => (SourceState::Ended, Some(source)),
            Some(Some(Err(_))) => (SourceState::Gone(ReplayError::SourceFailed), Some(source)),
            Some(Some(Ok(_))) | None => (SourceState::Idle(source), None),
        };
        (self.source, aftermath.source) = (state, left_over);
        self.source_at_end = is_at_end;
        if matches!(self.source, SourceState::Gone(_)) {
            aftermath.frames = self.buffer.release();
        }
        if copy != self.owner {
            self.arrived = read.flatten();
            aftermath.woken = self.waker.take();
            return failed(ReplayError::TakenOver);
        }
        match read {
            None => Poll::Pending,
            Some(None) => Poll::Ready(None),
            Some(Some(item)) => Poll::Ready(Some(self.give(item, aftermath))),
        }
    }

    /// The source will not be put back: polling it panicked.
    pub(super) fn lose_source(&mut self, aftermath: &mut Aftermath<Source>) {
        if matches!(self.source, SourceState::Polled) {
            self.source = SourceState::Gone(ReplayError::SourcePanicked);
            aftermath.frames = self.buffer.release();
        }
        aftermath.woken = self.waker.take();
    }

    /// A copy is dropped: what only it could have needed goes with it.
    pub(super) fn forget(&mut self, copy: Copy, aftermath: &mut Aftermath<Source>) {
        if copy == self.owner {
            self.owner_lives = false;
            aftermath.waker = self.waker.take();
        }
        self.waiting.retain(|&waiting| waiting != copy);
        if !self.waiting.is_empty() {
            return;
        }
        if self.owner_lives {
            aftermath.frames = self.buffer.release_given();
            return;
        }
        aftermath.frames = self.buffer.release();
        aftermath.unread = self.arrived.take();
        let source = std::mem::replace(&mut self.source, SourceState::Gone(ReplayError::TakenOver));
        if let SourceState::Idle(source) = source {
            aftermath.source = Some(source);
        }
    }

    fn take_over(&mut self, copy: Copy, aftermath: &mut Aftermath<Source>) {
        aftermath.woken = self.waker.take();
        (self.owner, self.owner_lives) = (copy, true);
        (self.started, self.given_bytes) = (false, 0);
        self.buffer.rewind();
        self.waiting.retain(|&waiting| waiting > copy);
    }

    /// Gives the owner what was read, and keeps it if another copy may need it.
    fn give(
        &mut self,
        item: Result<Frame<Bytes>, BoxError>,
        aftermath: &mut Aftermath<Source>,
    ) -> Result<Frame<Bytes>, BoxError> {
        let frame = item?;
        // Frames without a byte are not worth their room, which the limit would not see.
        if self.count(&frame) {
            aftermath.frames = if self.waiting.is_empty() { self.buffer.lose() } else { self.buffer.keep(&frame) };
        }
        Ok(frame)
    }

    /// Counts what the owner is given; whether there is anything in it.
    fn count(&mut self, frame: &Frame<Bytes>) -> bool {
        let length = frame.data_ref().map(Bytes::len);
        self.given_bytes = self.given_bytes.saturating_add(length.unwrap_or(0) as u64);
        self.started |= length != Some(0);
        length != Some(0)
    }
}

fn failed(error: ReplayError) -> Poll<Item> {
    Poll::Ready(Some(Err(error.into())))
}
