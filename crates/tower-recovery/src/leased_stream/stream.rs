//! The stream.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{Stream, TryStream};
use pin_project_lite::pin_project;
use tower::BoxError;

use crate::{Classify, Failure, Lease};

pin_project! {
    /// A stream that indicts its handle when it breaks. It is fused: what it came from is dropped at the end.
    #[must_use = "streams do nothing unless polled"]
    pub struct LeasedStream<Inner, Classifier> {
        #[pin]
        inner: Option<Inner>,
        lease: Lease,
        classifier: Classifier,
    }
}

impl<Inner, Classifier> LeasedStream<Inner, Classifier> {
    pub(super) fn new(inner: Inner, lease: Lease, classifier: Classifier) -> Self {
        Self { inner: Some(inner), lease, classifier }
    }

    /// The lease of the attempt that this stream came from.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.lease
    }
}

impl<Inner, Classifier> Stream for LeasedStream<Inner, Classifier>
where
    Inner: TryStream,
    Inner::Error: Into<BoxError>,
    Classifier: Classify<Inner>,
{
    type Item = Result<Inner::Ok, Failure>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        Poll::Ready(match ready!(inner.try_poll_next(context)) {
            Some(Ok(item)) => Some(Ok(item)),
            Some(Err(error)) => {
                this.inner.set(None);
                Some(Err(indicting(error.into(), this.lease, this.classifier)))
            }
            None => {
                this.inner.set(None);
                None
            }
        })
    }
}

fn indicting<Response>(error: BoxError, lease: &Lease, classifier: &impl Classify<Response>) -> Failure {
    let failure = Failure::of_broken_answer(error, |cause| classifier.error(cause));
    if failure.is_stale() {
        lease.indict();
    }
    failure.with_lease(lease.clone())
}

impl<Inner, Classifier> fmt::Debug for LeasedStream<Inner, Classifier> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LeasedStream")
            .field("lease", &self.lease)
            .field("ended", &self.inner.is_none())
            .finish_non_exhaustive()
    }
}
