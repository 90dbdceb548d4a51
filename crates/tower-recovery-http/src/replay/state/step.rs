//! What remains to be done outside of the lock.

use std::task::{Poll, Waker};

use bytes::Bytes;
use http_body::Frame;
use tower::BoxError;

use crate::replay::buffer::Released;

/// What a body yields.
pub(in crate::replay) type Item = Option<Result<Frame<Bytes>, BoxError>>;

/// What a copy that is polled has to do.
pub(in crate::replay) enum Step<Source> {
    Done(Poll<Item>),
    /// Poll the source, without the lock, and [put it back](super::State::put_back).
    Read(Source),
}

/// What remains to be done once the lock is released, since it is foreign code: to wake, and to drop.
pub(in crate::replay) struct Aftermath<Source> {
    /// Before a [poll](super::State::poll) that copy's waker; then what is to be dropped.
    pub(super) waker: Option<Waker>,
    pub(super) woken: Option<Waker>,
    pub(super) source: Option<Source>,
    pub(super) frames: Released,
    pub(super) unread: Option<Result<Frame<Bytes>, BoxError>>,
}

impl<Source> Aftermath<Source> {
    /// For the poll of a copy by a task with this waker.
    pub(in crate::replay) fn of(waker: Waker) -> Self {
        Self { waker: Some(waker), ..Self::default() }
    }

    /// Wakes and drops.
    pub(in crate::replay) fn settle(mut self) {
        if let Some(woken) = self.woken.take() {
            woken.wake();
        }
    }
}

impl<Source> Default for Aftermath<Source> {
    fn default() -> Self {
        Self { waker: None, woken: None, source: None, frames: Released::new(), unread: None }
    }
}
