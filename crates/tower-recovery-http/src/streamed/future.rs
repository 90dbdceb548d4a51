//! The future.

use std::{
    any::Any,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_recovery::{Handover, Lease};

use super::{StreamedBody, body::Judge};
use crate::{
    HttpClassifier,
    body_end::{Asked, Awaited, Trust},
};

pin_project! {
    /// The future of [`Streamed`](super::Streamed).
    #[must_use = "futures do nothing unless polled"]
    pub struct StreamedFuture<Inner> {
        #[pin]
        inner: Inner,
        // Until the head has come.
        call: Option<Call>,
    }
}

/// What the body must know of its call.
pub(super) struct Call {
    pub(super) asked: Asked,
    pub(super) lease: Lease,
    pub(super) classifier: HttpClassifier,
    pub(super) trust: Trust,
}

impl<Inner> StreamedFuture<Inner> {
    pub(super) fn new(inner: Inner, call: Call) -> Self {
        Self { inner, call: Some(call) }
    }
}

impl<Inner, ResponseBody, InnerError> Future for StreamedFuture<Inner>
where
    Inner: Future<Output = Result<Response<ResponseBody>, InnerError>>,
    InnerError: Into<BoxError>,
    ResponseBody: Body,
    ResponseBody::Error: Into<BoxError>,
{
    type Output = Result<Response<StreamedBody<ResponseBody>>, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (head, body) = ready!(this.inner.poll(context)).map_err(Into::into)?.into_parts();
        let Call { asked, lease, classifier, trust } = this.call.take().expect("polled after it was done");
        let awaited = Awaited::of(&head, asked, trust);
        let judge = Judge::new(&head, classifier, lease);
        Poll::Ready(Ok(Response::from_parts(head, StreamedBody::new(body, awaited, judge))))
    }
}

impl<Inner: Handover> Handover for StreamedFuture<Inner> {
    fn is_handed_over(&self) -> bool {
        self.inner.is_handed_over()
    }

    fn take_unsent(self: Pin<&mut Self>) -> Option<Box<dyn Any + Send>> {
        self.project().inner.take_unsent()
    }
}

impl<Inner> fmt::Debug for StreamedFuture<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamedFuture").finish_non_exhaustive()
    }
}
