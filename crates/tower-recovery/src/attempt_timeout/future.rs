//! The future.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower::BoxError;

use super::AttemptTimedOut;
use crate::{Failure, Handover, Verdict};

pin_project! {
    /// The future of [`AttemptTimeout`](super::AttemptTimeout).
    #[must_use = "futures do nothing unless polled"]
    pub struct AttemptTimeoutFuture<Inner> {
        #[pin]
        inner: Inner,
        limit: Duration,
        // Armed when the attempt is pending for the first time.
        #[pin]
        timer: Option<Sleep>,
    }
}

impl<Inner> AttemptTimeoutFuture<Inner> {
    pub(super) fn new(inner: Inner, limit: Duration) -> Self {
        Self { inner, limit, timer: None }
    }
}

impl<Inner, Response, InnerError> Future for AttemptTimeoutFuture<Inner>
where
    Inner: Future<Output = Result<Response, InnerError>> + Handover,
    InnerError: Into<BoxError>,
{
    type Output = Result<Response, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // A call that is polled late must not send what it gives up in the same moment.
        if !this.inner.is_handed_over()
            && let Some(timer) = this.timer.as_mut().as_pin_mut()
            && timer.poll(context).is_ready()
        {
            return Poll::Ready(Err(timed_out(this.inner, *this.limit).into()));
        }
        if let Poll::Ready(outcome) = this.inner.as_mut().poll(context) {
            return Poll::Ready(outcome.map_err(Into::into));
        }
        if this.timer.is_none() {
            this.timer.set(Some(sleep(*this.limit)));
        }
        let timer = this.timer.as_pin_mut().expect("it was armed above");
        ready!(timer.poll(context));
        Poll::Ready(Err(timed_out(this.inner, *this.limit).into()))
    }
}

fn timed_out(attempt: Pin<&mut impl Handover>, limit: Duration) -> Failure {
    let handed_over = attempt.is_handed_over();
    let verdict = if handed_over { Verdict::maybe_sent() } else { Verdict::never_sent() };
    let failure = Failure::new(verdict.stale(), AttemptTimedOut { limit, handed_over });
    match attempt.take_unsent() {
        Some(request) if !handed_over => failure.with_unsent_erased(request),
        _ => failure,
    }
}

impl<Inner> fmt::Debug for AttemptTimeoutFuture<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AttemptTimeoutFuture").field("limit", &self.limit).finish_non_exhaustive()
    }
}
