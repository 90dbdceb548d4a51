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
use crate::{Delivery, Failure};

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

/// A failure, or an error of tower's, that is the error itself is about this request. One that stands deeper may be about another (a handle that
/// makes a request of its own, a request body that is read from another client), so the classifier is asked first, and where it does not
/// know the error, what was proven of somebody else's request proves nothing of this one.
fn classify<Response>(error: BoxError, classifier: &impl Classify<Response>) -> Failure {
    let is_about_this_request = Failure::is_at_the_top(error.as_ref());
    let mut failure = Failure::recover(error);
    if is_about_this_request && failure.delivery().is_some() {
        return failure;
    }
    let Some(cause) = failure.cause() else { return failure };
    let judged = classifier.error(cause);
    if judged.delivery().is_some() || failure.delivery().is_none() {
        failure.overrule(judged);
    } else if failure.delivery().is_some_and(Delivery::is_send_side) {
        failure.overrule(failure.verdict().with_delivery(Delivery::MaybeSent));
    }
    failure
}

impl<Inner, Classifier> fmt::Debug for ClassifyFuture<Inner, Classifier> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClassifyFuture").finish_non_exhaustive()
    }
}
