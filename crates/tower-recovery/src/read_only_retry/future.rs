//! The attempts of one call, one after the other.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::{FutureExt, future::BoxFuture};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::BoxError;
use tower_service::Service;

use super::{
    DeadlineExceeded,
    decision::{Decision, Ledger},
    service::Block,
};
use crate::{
    Access, Delivery, Failure, GiveUp, Lease, RecoveryEvent, Renewal, RequestRules, RetryPermit, Verdict,
    attempt_scope, clock, event,
};

pin_project! {
    /// The future of [`ReadOnlyRetry`](super::ReadOnlyRetry).
    #[must_use = "futures do nothing unless polled"]
    pub struct ReadOnlyRetryFuture<Inner, Rules, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
    {
        #[pin]
        stage: Stage<Inner, Inner::Future>,
        call: Call<Inner, Rules, Request, Rules::Method>,
        // Armed when the call is pending for the first time.
        #[pin]
        deadline: Option<Sleep>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<Inner, Attempt> {
        // Attempt => Renewing | Pausing | done
        Attempt { #[pin] attempt: Attempt },
        // Renewing => Readying | Pausing | done
        Renewing { renewal: BoxFuture<'static, Renewal> },
        // Pausing => Readying
        Pausing { #[pin] pause: Sleep },
        // Readying => Attempt | done
        Readying { inner: Inner },
    }
}

/// What belongs to the call and outlives its attempts.
struct Call<Inner, Rules, Request, Method> {
    block: Arc<Block<Inner, Rules>>,
    method: Method,
    access: Access,
    ledger: Ledger,
    /// The copy to be sent next, or the request that was handed back.
    next: Option<Request>,
    /// Which of the two it is.
    handed_back: bool,
    silenced: bool,
    /// Why the call is being repeated.
    last: Option<Failure>,
    /// What the next repeat is paid with; `None` where it is free.
    permit: Option<RetryPermit>,
    ends: Option<Instant>,
}

impl<Inner, Rules, Request> ReadOnlyRetryFuture<Inner, Rules, Request>
where
    Inner: Service<Request> + Clone,
    Rules: RequestRules<Request>,
{
    pub(super) fn new(block: Arc<Block<Inner, Rules>>, inner: &mut Inner, request: Request) -> Self {
        let timing = block.policy.timing;
        let method = block.rules.method(&request);
        let mut call = Call {
            access: block.rules.access(&request, &method),
            method,
            ledger: Ledger::first(),
            next: None,
            handed_back: false,
            silenced: false,
            last: None,
            permit: None,
            ends: timing.deadline().map(|deadline| clock::later(Instant::now(), deadline)),
            block,
        };
        let attempt = call.send(inner, request);
        Self { stage: Stage::Attempt { attempt }, call, deadline: None }
    }
}

impl<Inner, Rules, Request> Future for ReadOnlyRetryFuture<Inner, Rules, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: Send + 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Request: Send + 'static,
{
    type Output = Result<Inner::Response, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let call = this.call;
        if let Poll::Ready(outcome) = call.poll_stage(this.stage.as_mut(), context) {
            return Poll::Ready(outcome);
        }
        if call.ledger.attempts() > 1 {
            // An attempt before this one may have been.
            attempt_scope::may_have_sent();
        }
        let Some(ends) = call.ends else { return Poll::Pending };
        if this.deadline.is_none() {
            this.deadline.set(Some(sleep_until(ends)));
        }
        let deadline = this.deadline.as_pin_mut().expect("it was armed above");
        ready!(deadline.poll(context));
        Poll::Ready(match this.stage.project() {
            StageProjection::Attempt { attempt } => call.cut_off(attempt, context),
            StageProjection::Renewing { .. } | StageProjection::Pausing { .. } | StageProjection::Readying { .. } => {
                call.give_up_repeating(GiveUp::Deadline)
            }
        })
    }
}

impl<Inner, Rules, Request> Call<Inner, Rules, Request, Rules::Method>
where
    Inner: Service<Request> + Clone,
    Rules: RequestRules<Request>,
{
    /// Sends one attempt, and keeps a copy if there may be another.
    fn send(&mut self, inner: &mut Inner, request: Request) -> Inner::Future {
        if self.next.is_none() && self.ledger.attempts() < self.block.policy.timing.attempts() {
            self.next = self.block.rules.copy(&request);
        }
        attempt_scope::calling(self.ends.is_some(), self.may_be_given_up(), || inner.call(request))
    }

    /// A read that is given up before it failed is repeated for sure; and a call's first attempt alone may be, so that no call is suspected twice.
    fn may_be_given_up(&self) -> bool {
        self.access.is_read() && self.ledger.attempts() == 1 && self.is_whole()
    }

    /// Whether the request to be sent next is all there. One that was handed back may have been a copy itself.
    fn is_whole(&self) -> bool {
        self.next.as_ref().is_some_and(|next| self.block.rules.is_whole(next))
    }
}

impl<Inner, Rules, Request> Call<Inner, Rules, Request, Rules::Method>
where
    Inner: Service<Request> + Clone,
    Inner::Response: Send + 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Request: Send + 'static,
{
    fn poll_stage(
        &mut self,
        mut stage: Pin<&mut Stage<Inner, Inner::Future>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Inner::Response, Failure>> {
        loop {
            let next = match stage.as_mut().project() {
                StageProjection::Attempt { attempt } => match ready!(self.poll_attempt(attempt, context)) {
                    Ok(response) => {
                        self.block.deposits.answered();
                        return Poll::Ready(Ok(response));
                    }
                    Err(error) => self.after(Failure::recover(error.into())),
                },
                // A call that is polled late asks no resolver, buys no permit and takes no slot for what it must not send any more.
                _ if self.is_over() => Err(self.give_up_repeating(GiveUp::Deadline)),
                StageProjection::Renewing { renewal } => self.renewed(ready!(renewal.poll_unpin(context))),
                StageProjection::Pausing { pause } => {
                    ready!(pause.poll(context));
                    Ok(self.ready_another())
                }
                StageProjection::Readying { inner } => match ready!(inner.poll_ready(context)) {
                    // The transport may have read on, until now, in the body of the attempt that was given up.
                    Ok(()) if !self.is_whole() => Err(self.give_up_repeating(GiveUp::IncompleteCopy)),
                    Ok(()) => Ok(Stage::Attempt { attempt: self.repeat(inner) }),
                    Err(error) => Err(self.not_ready(error.into())),
                },
            };
            // The failed attempt is dropped here, before anything else is started.
            match next {
                Ok(next) => stage.set(next),
                Err(outcome) => return Poll::Ready(outcome),
            }
        }
    }

    /// An attempt has failed: the next stage, or the outcome of the call.
    fn after(&mut self, failure: Failure) -> Next<Inner, Request> {
        self.ledger.count_below(failure.attempts() - 1);
        self.report(RecoveryEvent::AttemptFailed {
            route: self.route(),
            method: self.method.to_string(),
            attempt: self.ledger.attempts(),
            delivery: failure.delivery(),
            generation: failure.lease().map(Lease::generation),
            cause: event::text(failure.cause().unwrap_or(&failure)),
        });
        // A verdict of the other side that comes as an error, as a gRPC status does, is an answer like one that comes as a response.
        if failure.delivery() == Some(Delivery::Answered) {
            self.block.deposits.answered();
        }
        let attempts = self.block.policy.timing.attempts();
        let decision = self.ledger.decide(failure.verdict(), self.access, failure.is_exhausted(), attempts);
        let silenced = match decision {
            Decision::Repeat { silenced } => silenced,
            Decision::Final => return Err(self.conclude(failure, None)),
            Decision::Exhausted => return Err(self.conclude(failure, Some(GiveUp::Attempts))),
        };
        // What was handed back is sent before a copy: it is the same request, and it may be the only one there is.
        if let Some(unsent) = failure.take_unsent() {
            self.next = Some(unsent);
            self.handed_back = true;
        }
        match &self.next {
            None => return Err(self.conclude(failure, Some(GiveUp::NoRequest))),
            Some(_) if !self.is_whole() => return Err(self.conclude(failure, Some(GiveUp::IncompleteCopy))),
            Some(_) => {}
        }
        self.silenced = silenced;
        let lease = failure.lease().cloned();
        self.last = Some(failure);
        match lease {
            Some(lease) => Ok(Stage::Renewing { renewal: renew(lease) }),
            None => self.pay().and_then(|()| self.pause()),
        }
    }

    /// The handle has been looked at. A repeat to another instance is free, or one eviction would cost every caller a permit; so is one whose request
    /// the old handle gave back, to whomever the new one points: nobody was bothered with it yet. The first repeat goes at once if there is another
    /// handle now.
    fn renewed(&mut self, renewal: Renewal) -> Next<Inner, Request> {
        let was_unsent = self.last.as_ref().is_some_and(|last| last.delivery() == Some(Delivery::NeverSent));
        let is_free =
            matches!(renewal, Renewal::NewIdentity) || (renewal.is_changed() && self.handed_back && was_unsent);
        if !is_free {
            self.pay()?;
        }
        if renewal.is_changed() && self.ledger.attempts() == 1 { Ok(self.ready_another()) } else { self.pause() }
    }

    /// Says anew whether it may be given up: the transport may have read on in a body whose copy cannot be whole any more.
    fn poll_attempt(
        &self,
        attempt: Pin<&mut Inner::Future>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Inner::Response, Inner::Error>> {
        // Of what does not read it was never said.
        if !self.access.is_read() {
            return attempt.poll(context);
        }
        attempt_scope::polling(self.may_be_given_up(), || attempt.poll(context))
    }

    /// Buys the permit before the pause, so that those who wait are counted.
    fn pay(&mut self) -> Result<(), Result<Inner::Response, Failure>> {
        self.permit = RetryPermit::buy(self.block.deposits.budget());
        if self.permit.is_none() { Err(self.give_up_repeating(GiveUp::Budget)) } else { Ok(()) }
    }

    fn pause(&mut self) -> Next<Inner, Request> {
        let pause = self.block.policy.backoff.pause(self.ledger.attempts(), fastrand::f64());
        let until = clock::later(Instant::now(), pause);
        if self.ends.is_some_and(|ends| until >= ends) {
            return Err(self.give_up_repeating(GiveUp::Deadline));
        }
        Ok(Stage::Pausing { pause: sleep_until(until) })
    }

    /// Between two attempts nothing more is begun then.
    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    fn ready_another(&self) -> Stage<Inner, Inner::Future> {
        Stage::Readying { inner: self.block.template.another() }
    }

    fn repeat(&mut self, inner: &mut Inner) -> Inner::Future {
        let mut request = self.next.take().expect("a repeat is decided only where there is a request to send");
        if self.silenced {
            self.block.rules.silence(&mut request);
        }
        self.handed_back = false;
        self.ledger.count();
        let permit = self.permit.take();
        self.report(RecoveryEvent::CallRepeated {
            route: self.route(),
            method: self.method.to_string(),
            attempt: self.ledger.attempts(),
            silenced: self.silenced,
            free: permit.is_none(),
        });
        if let Some(permit) = permit {
            permit.spend();
        }
        self.send(inner, request)
    }

    /// The bounds of the call forbid the next attempt.
    fn give_up_repeating(&mut self, reason: GiveUp) -> Result<Inner::Response, Failure> {
        self.permit = None;
        let last = self.last.take().expect("nothing is repeated without a failure");
        // A request that is not whole any more is nobody's to send.
        let last = if reason == GiveUp::IncompleteCopy { last } else { self.with_unsent(last) };
        self.conclude(last, Some(reason))
    }

    /// The instance for a further attempt did not become ready: the request of that attempt was not sent.
    fn not_ready(&mut self, error: BoxError) -> Result<Inner::Response, Failure> {
        self.permit = None;
        // A refusal that was to be repeated is an answer, if nothing comes of that.
        if let Some(response) = self.last.take().and_then(|last| last.take_response()) {
            return Ok(response);
        }
        self.handed_back = true;
        let failure = self.with_unsent(Failure::not_ready(error));
        self.conclude(failure, None)
    }

    /// A request that was handed back goes out with the failure of a call that was not sent, as it would have without this layer.
    fn with_unsent(&mut self, failure: Failure) -> Failure {
        let send_side = self.ledger.conclude(failure.verdict()).delivery().is_some_and(Delivery::is_send_side);
        match self.next.take() {
            Some(unsent) if self.handed_back && send_side => failure.with_unsent(unsent),
            _ => failure,
        }
    }

    /// The deadline passed within an attempt. What it has done so far nobody knows, unless it still waits for a handle and says so.
    #[cold]
    fn cut_off(
        &mut self,
        attempt: Pin<&mut Inner::Future>,
        context: &mut Context<'_>,
    ) -> Result<Inner::Response, Failure> {
        let (polled, was_never_sent) = attempt_scope::polling_last(|| attempt.poll(context));
        match polled {
            Poll::Ready(Ok(response)) => {
                self.block.deposits.answered();
                return Ok(response);
            }
            // It has ended by itself, between the two polls.
            Poll::Ready(Err(error)) => {
                let next = self.after(Failure::recover(error.into()));
                return next.map_or_else(|outcome| outcome, |_| self.give_up_repeating(GiveUp::Deadline));
            }
            Poll::Pending => {}
        }
        let deadline = self.block.policy.timing.deadline().unwrap_or_default();
        let verdict = if was_never_sent { Verdict::never_sent() } else { Verdict::maybe_sent() };
        let failure = Failure::new(verdict, DeadlineExceeded { deadline, last: self.last.take() });
        Err(self.sum_up(failure, Some(GiveUp::Deadline)))
    }

    /// The outcome of the call. A response that refuses goes out as the response that it is.
    fn conclude(&self, failure: Failure, reason: Option<GiveUp>) -> Result<Inner::Response, Failure> {
        let response = failure.take_response();
        let failure = self.sum_up(failure, reason);
        response.ok_or(failure)
    }

    fn sum_up(&self, mut failure: Failure, reason: Option<GiveUp>) -> Failure {
        failure.set_verdict(self.ledger.conclude(failure.verdict()));
        failure.set_attempts(self.ledger.attempts());
        let Some(reason) = reason else { return failure };
        failure.set_gave_up(reason);
        self.report(RecoveryEvent::CallGivenUp {
            route: self.route(),
            method: self.method.to_string(),
            attempts: self.ledger.attempts(),
            delivery: failure.delivery(),
            reason,
        });
        failure
    }

    fn route(&self) -> Arc<str> {
        Arc::clone(&self.block.policy.route)
    }

    fn report(&self, event: RecoveryEvent) {
        self.block.policy.reporter.report(&event);
    }
}

/// The next stage, or the outcome of the call.
type Next<Inner, Request> =
    Result<Stage<Inner, <Inner as Service<Request>>::Future>, Result<<Inner as Service<Request>>::Response, Failure>>;

fn renew(lease: Lease) -> BoxFuture<'static, Renewal> {
    async move { lease.renew().await }.boxed()
}

impl<Inner, Rules, Request> fmt::Debug for ReadOnlyRetryFuture<Inner, Rules, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadOnlyRetryFuture").field("ledger", &self.call.ledger).finish_non_exhaustive()
    }
}
