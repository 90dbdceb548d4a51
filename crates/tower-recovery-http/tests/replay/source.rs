//! A stream that follows a script and minds its contract: it panics when it is polled after its end or its error.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// What breaks the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the disk is gone")]
pub(crate) struct Broken;

pub(crate) type Item = Option<Result<Frame<Bytes>, Broken>>;

pub(crate) trait Script: Unpin {
    fn next(&mut self, waker: &Waker) -> Poll<Item>;

    fn is_at_end(&self) -> bool {
        false
    }
}

#[derive(Debug)]
pub(crate) struct Source<Following> {
    script: Following,
    size: SizeHint,
    ended: bool,
}

impl<Following> Source<Following> {
    pub(crate) fn new(script: Following) -> Self {
        Self { script, size: SizeHint::default(), ended: false }
    }

    pub(crate) fn of_size(mut self, size: Option<u64>) -> Self {
        self.size = size.map_or_else(SizeHint::default, SizeHint::with_exact);
        self
    }
}

impl<Following: Script> Body for Source<Following> {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Item> {
        assert!(!self.ended, "polled after its end");
        let polled = self.script.next(context.waker());
        self.ended = matches!(polled, Poll::Ready(None | Some(Err(_))));
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, Bytes::len) as u64;
            self.size = self.size.exact().map_or_else(SizeHint::default, |size| SizeHint::with_exact(size - length));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.script.is_at_end()
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}

/// Frames that are there at once.
impl Script for std::vec::IntoIter<Result<Frame<Bytes>, Broken>> {
    fn next(&mut self, _: &Waker) -> Poll<Item> {
        Poll::Ready(Iterator::next(self))
    }
}

/// A stream of these parts.
pub(crate) fn of_parts(parts: &[&'static str]) -> Source<std::vec::IntoIter<Result<Frame<Bytes>, Broken>>> {
    let frames: Vec<_> = parts.iter().map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes())))).collect();
    let size = parts.iter().map(|part| part.len() as u64).sum();
    Source::new(frames.into_iter()).of_size(Some(size))
}
