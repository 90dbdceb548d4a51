//! The call, until its stream begins.

use std::{
    any::Any,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use super::LeasedStream;
use crate::{Handover, Lease};

pin_project! {
    /// The future of [`LeasedStreams`](super::LeasedStreams).
    #[must_use = "futures do nothing unless polled"]
    pub struct LeasedStreamFuture<Inner, Classifier> {
        #[pin]
        inner: Inner,
        // Until the stream has them.
        kept: Option<(Lease, Classifier)>,
    }
}

impl<Inner, Classifier> LeasedStreamFuture<Inner, Classifier> {
    pub(super) fn new(inner: Inner, lease: Lease, classifier: Classifier) -> Self {
        Self { inner, kept: Some((lease, classifier)) }
    }
}

impl<Inner, Stream, Error, Classifier> Future for LeasedStreamFuture<Inner, Classifier>
where
    Inner: Future<Output = Result<Stream, Error>>,
{
    type Output = Result<LeasedStream<Stream, Classifier>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(context));
        let (lease, classifier) = this.kept.take().expect("polled after it was done");
        Poll::Ready(answer.map(|stream| LeasedStream::new(stream, lease, classifier)))
    }
}

impl<Inner: Handover, Classifier> Handover for LeasedStreamFuture<Inner, Classifier> {
    fn is_handed_over(&self) -> bool {
        self.inner.is_handed_over()
    }

    fn take_unsent(self: Pin<&mut Self>) -> Option<Box<dyn Any + Send>> {
        self.project().inner.take_unsent()
    }
}

impl<Inner, Classifier> fmt::Debug for LeasedStreamFuture<Inner, Classifier> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LeasedStreamFuture").finish_non_exhaustive()
    }
}
