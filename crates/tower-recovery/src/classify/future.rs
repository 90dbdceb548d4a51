//! The future.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::BoxError;

use super::Classify;
use crate::Failure;

pin_project! {
    /// The future of [`ClassifyService`](super::ClassifyService).
    #[must_use = "futures do nothing unless polled"]
    pub struct ClassifyFuture<Inner, Classifier> {
        #[pin]
        inner: Inner,
        classifier: Classifier,
    }
}

impl<Inner, Classifier> ClassifyFuture<Inner, Classifier> {
    pub(super) fn new(inner: Inner, classifier: Classifier) -> Self {
        Self { inner, classifier }
    }
}

impl<Inner, Classifier, Response, InnerError> Future for ClassifyFuture<Inner, Classifier>
where
    Inner: Future<Output = Result<Response, InnerError>>,
    InnerError: Into<BoxError>,
    Classifier: Classify<Response>,
    Response: Send + 'static,
{
    type Output = Result<Response, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        Poll::Ready(match ready!(this.inner.poll(context)) {
            Ok(response) => match this.classifier.response(&response) {
                None => Ok(response),
                Some(verdict) => Err(Failure::from_response(verdict, response)),
            },
            Err(error) => Err(classify(error.into(), this.classifier)),
        })
    }
}

fn classify<Response>(error: BoxError, classifier: &impl Classify<Response>) -> Failure {
    let mut failure = Failure::recover(error);
    if failure.delivery().is_none()
        && let Some(cause) = failure.cause()
    {
        failure.set_verdict(classifier.error(cause));
    }
    failure
}

impl<Inner, Classifier> fmt::Debug for ClassifyFuture<Inner, Classifier> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClassifyFuture").finish_non_exhaustive()
    }
}
