//! Waiting for a handle where there is none, then the attempt on it.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use crate::{Acquire, Addressed, Delivery, Failure, Held, Lease, Verdict, attempt_scope, suspicion::watch::Watch};

pin_project! {
    /// The future of [`Reresolve`](super::Reresolve).
    #[must_use = "futures do nothing unless polled"]
    pub struct ReresolveFuture<Inner, Handle, Request>
    where
        Inner: Service<Addressed<Handle, Request>>,
        Handle: Clone,
        Handle: Send,
        Handle: 'static,
    {
        #[pin]
        stage: Stage<Inner, Handle, Request>,
        watch: Watch,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<Inner, Handle, Request>
    where
        Inner: Service<Addressed<Handle, Request>>,
        Handle: Clone,
        Handle: Send,
        Handle: 'static,
    {
        // Waiting => Attempt | done
        Waiting { acquire: Acquire<Handle>, readied: Inner, request: Option<Request>, is_attempt: bool },
        // Attempt => done
        Attempt { #[pin] attempt: Inner::Future, lease: Lease },
    }
}

impl<Inner, Handle, Request> ReresolveFuture<Inner, Handle, Request>
where
    Inner: Service<Addressed<Handle, Request>>,
    Handle: Clone + Send + 'static,
{
    pub(super) fn on(held: Held<Handle>, inner: &mut Inner, request: Request, may_be_given_up: bool) -> Self {
        Self { stage: Stage::attempt(held, inner, request), watch: Watch::new(may_be_given_up) }
    }

    /// `is_attempt`: it was called as the attempt of a call with a deadline, and may speak for it.
    pub(super) fn waiting(
        acquire: Acquire<Handle>,
        readied: Inner,
        request: Request,
        may_be_given_up: bool,
        is_attempt: bool,
    ) -> Self {
        let stage = Stage::Waiting { acquire, readied, request: Some(request), is_attempt };
        Self { stage, watch: Watch::new(may_be_given_up) }
    }
}

impl<Inner, Handle, Request> Stage<Inner, Handle, Request>
where
    Inner: Service<Addressed<Handle, Request>>,
    Handle: Clone + Send + 'static,
{
    fn attempt(Held { handle, lease }: Held<Handle>, inner: &mut Inner, request: Request) -> Self {
        let attempt = inner.call(Addressed { handle, lease: lease.clone(), request });
        Self::Attempt { attempt, lease }
    }
}

impl<Inner, Handle, Request> Future for ReresolveFuture<Inner, Handle, Request>
where
    Inner: Service<Addressed<Handle, Request>>,
    Inner::Response: Send + 'static,
    Inner::Error: Into<BoxError>,
    Handle: Clone + Send + 'static,
    Request: Send + 'static,
{
    type Output = Result<Inner::Response, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let attempt = match this.stage.as_mut().project() {
                StageProjection::Attempt { attempt, lease } => {
                    return Poll::Ready(match attempt.poll(context) {
                        Poll::Ready(Ok(response)) => {
                            lease.has_served();
                            Ok(response)
                        }
                        Poll::Ready(Err(error)) => judge(Failure::recover(error.into()), lease),
                        Poll::Pending => {
                            attempt_scope::may_have_sent();
                            let superseded = ready!(this.watch.poll(lease, context));
                            Err(Failure::new(Verdict::maybe_sent(), superseded).with_lease(lease.clone()))
                        }
                    });
                }
                StageProjection::Waiting { acquire, readied, request, is_attempt } => {
                    if attempt_scope::is_last_poll() {
                        // Nothing was sent, and nothing will be.
                        if *is_attempt {
                            attempt_scope::waits();
                        }
                        return Poll::Pending;
                    }
                    let acquired = ready!(Pin::new(acquire).poll(context));
                    let request = request.take().expect("polled after it was done");
                    match acquired {
                        Ok(held) => Stage::attempt(held, readied, request),
                        Err(error) => {
                            let never_sent = Verdict::never_sent();
                            let verdict = if error.is_permanent() { never_sent.permanent() } else { never_sent };
                            return Poll::Ready(Err(Failure::new(verdict, error).with_unsent(request)));
                        }
                    }
                }
            };
            this.stage.set(attempt);
        }
    }
}

/// Acts on what the attempt proves of its handle. An answer that only indicts the handle goes out as the answer it is.
fn judge<Response: 'static>(mut failure: Failure, lease: &Lease) -> Result<Response, Failure> {
    if failure.is_stale() {
        lease.indict();
    } else if failure.delivery() == Some(Delivery::Answered) {
        lease.has_served();
    }
    if failure.delivery() == Some(Delivery::Answered)
        && let Some(answer) = failure.take_response()
    {
        return Ok(answer);
    }
    failure.set_lease(lease.clone());
    Err(failure)
}

impl<Inner, Handle, Request> fmt::Debug for ReresolveFuture<Inner, Handle, Request>
where
    Inner: Service<Addressed<Handle, Request>>,
    Handle: Clone + Send + 'static,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReresolveFuture").finish_non_exhaustive()
    }
}
