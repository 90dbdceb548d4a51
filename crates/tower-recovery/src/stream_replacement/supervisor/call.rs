//! What belongs to one call and outlives its attempts.

use std::{pin::Pin, sync::Arc};

use tokio::time::Instant;
use tower::BoxError;
use tower_service::Service;

use super::{Attempt, Next, Stage, Step, account::Account};
use crate::{
    Access, Delivery, Failure, GiveUp, RecoveryEvent, RequestRules, Verdict, event,
    stream_replacement::{
        Resume, ResumeRefused, StreamEnd, StreamReport, StreamRules,
        layer::Probing,
        service::Block,
        supervision::{Pulse, Supervision},
    },
};

/// What belongs to one call and outlives its attempts. It moves from the call's future to its stream.
pub(in crate::stream_replacement) struct Call<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    pub(super) block: Arc<Block<Inner, Rules, Streams>>,
    method: Rules::Method,
    access: Access,
    /// The copy to be sent next, or the request that was handed back.
    pub(super) next: Option<Request>,
    pub(super) stage: Stage<Inner, Streams::Items>,
    /// The rules of the current attempt.
    pub(super) streams: Streams,
    pub(super) resume: Resumption,
    pub(super) machine: Supervision,
    pub(super) pulse: Pulse,
    pub(super) probing: Option<Probing>,
    pub(super) account: Account,
    /// Whether some attempt may have executed.
    pub(super) may_have_run: bool,
    /// Why the rest could not be asked for, or was none.
    pub(super) refused: Option<ResumeRefused>,
    /// How many attempts a retry layer below has spent beyond those that are counted here.
    pub(super) further_below: u32,
}

impl<Inner, Rules, Streams, Resumption, Request> Call<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    pub(super) fn new(block: Arc<Block<Inner, Rules, Streams>>, resume: Resumption, request: &Request) -> Self {
        let method = block.rules.method(request);
        let policy = &block.policy;
        Self {
            access: block.rules.access(request, &method),
            method,
            next: None,
            stage: Stage::Calling,
            streams: block.streams.clone(),
            resume,
            machine: Supervision::new(policy.stream, policy.probe.is_some(), policy.made),
            pulse: Pulse::new(policy.made),
            probing: None,
            account: Account::new(),
            may_have_run: false,
            refused: None,
            further_below: 0,
            block,
        }
    }

    /// What was handed out cannot be taken back: nothing is replaced any more, and no copy needed.
    pub(in crate::stream_replacement) fn commit(&mut self) {
        self.machine.commit();
        self.next = None;
    }

    /// The other side has given its verdict.
    pub(super) fn settle(&mut self) {
        if self.machine.settle().is_some() {
            self.cancel_probe();
        }
        self.next = None;
    }

    /// Whether the other side gave a verdict, or nobody watches: nothing will be replaced.
    pub(in crate::stream_replacement) fn is_settled(&self) -> bool {
        !self.machine.is_watched()
    }

    pub(in crate::stream_replacement) fn bytes(&self, item: &Streams::Item) -> u64 {
        self.streams.bytes(item)
    }

    /// How many items the current attempt has given.
    pub(in crate::stream_replacement) fn received(&self) -> u64 {
        self.account.received().0
    }

    pub(in crate::stream_replacement) fn report(&self) -> StreamReport {
        self.account.report(self.machine.attempt())
    }

    /// How many attempts there were, those of a retry layer below among them.
    pub(super) fn attempts(&self) -> u32 {
        self.machine.attempt().saturating_add(self.further_below)
    }

    pub(super) fn is_between_attempts(&self) -> bool {
        matches!(self.stage, Stage::Pausing(_) | Stage::Over)
    }

    pub(super) fn cancel_probe(&mut self) {
        if self.probing.take().is_some() {
            self.say(|route, method, attempt| RecoveryEvent::RecoveryProbeCancelled { route, method, attempt });
        }
    }

    /// Of what happens on the happy path: nothing is put together where nobody listens.
    pub(super) fn whisper(&self, event: impl FnOnce(Arc<str>, String, u32) -> RecoveryEvent) {
        if self.block.policy.reporter.hears_debug() {
            self.say(event);
        }
    }

    pub(super) fn say(&self, event: impl FnOnce(Arc<str>, String, u32) -> RecoveryEvent) {
        let Block { policy, .. } = &*self.block;
        policy.reporter.report(&event(Arc::clone(&policy.route), self.method.to_string(), self.machine.attempt()));
    }

    pub(super) fn attempt_failed(&self, delivery: Option<Delivery>, cause: String) {
        let (items, bytes) = self.account.received();
        self.say(|route, method, attempt| RecoveryEvent::PhysicalAttemptFailed {
            route,
            method,
            attempt,
            delivery,
            items,
            bytes,
            cause,
        });
    }

    pub(super) fn succeeded(&mut self, attempt: Pin<&mut Attempt<Inner::Future>>) {
        self.close(attempt);
        self.next = None;
        if self.machine.is_watched() {
            let (items, bytes) = self.account.received();
            self.whisper(|route, method, attempt| RecoveryEvent::PhysicalAttemptSucceeded {
                route,
                method,
                attempt,
                items,
                bytes,
            });
        }
    }

    /// Drops all that is under way.
    pub(super) fn close(&mut self, attempt: Pin<&mut Attempt<Inner::Future>>) {
        self.stage = Stage::Over;
        attempt.end();
        self.cancel_probe();
    }
}

impl<Inner, Rules, Streams, Resumption, Request> Call<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    /// Sends one attempt, and keeps a copy if there may be another.
    pub(super) fn send(&mut self, inner: &mut Inner, mut request: Request) -> Inner::Future {
        let silenced = self.may_have_run && self.access == Access::SilentRead;
        if silenced {
            self.block.rules.silence(&mut request);
        }
        if self.machine.is_watched() {
            self.whisper(|route, method, attempt| RecoveryEvent::PhysicalAttemptStarted {
                route,
                method,
                attempt,
                silenced,
            });
        }
        self.next = if self.machine.may_replace() { self.block.rules.copy(&request) } else { None };
        inner.call(request)
    }

    pub(super) fn ready_another<Output>(&mut self, now: Instant) -> Step<Output> {
        self.machine.started(now);
        self.streams = self.block.streams.clone();
        self.stage = Stage::Readying(self.block.template.another());
        Step::Next
    }
}

impl<Inner, Rules, Streams, Resumption, Request> Call<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
    Request: Send + 'static,
{
    /// The instance for the next attempt is ready.
    pub(super) fn call_another(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
    ) -> Step<Next<Streams, Inner::Response>> {
        let Stage::Readying(mut inner) = std::mem::replace(&mut self.stage, Stage::Calling) else {
            unreachable!("an instance was readied in that stage")
        };
        let request = self.next.take().expect("a stream is replaced only where there is a request to send");
        // The transport may have read on, until now, in the body of the attempt that was given up.
        if !self.block.rules.is_whole(&request) {
            return self.end(attempt, StreamEnd::Dropped, Some(GiveUp::IncompleteCopy), None);
        }
        // What was silent until now was the instance. Who is sent something now is given its time.
        self.cancel_probe();
        self.machine.started(Instant::now());
        attempt.call(self.send(&mut inner, request));
        Step::Next
    }

    /// The stream of an attempt broke.
    pub(super) fn stream_failed(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        error: BoxError,
    ) -> Step<Next<Streams, Inner::Response>> {
        let failure = Failure::of_broken_answer(error, |cause| self.streams.broken_by(cause));
        // Who has opened a stream has the request, whatever breaks it.
        self.may_have_run = true;
        self.failed(attempt, failure)
    }

    /// An attempt failed.
    pub(super) fn failed(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        failure: Failure,
    ) -> Step<Next<Streams, Inner::Response>> {
        self.may_have_run |= !failure.delivery().is_some_and(Delivery::is_send_side);
        self.further_below = self.further_below.saturating_add(failure.attempts().saturating_sub(1));
        if self.machine.is_watched() {
            self.attempt_failed(failure.delivery(), event::text(failure.cause().unwrap_or(&failure)));
        }
        let is_spent = Supervision::is_spent(failure.verdict(), failure.gave_up());
        let order = self.machine.failed(failure.verdict(), is_spent);
        self.conclude(attempt, order, StreamEnd::Dropped, Some(failure))
    }

    /// The stream of an attempt has ended by itself before it was complete.
    pub(super) fn incomplete(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
    ) -> Step<Next<Streams, Inner::Response>> {
        self.may_have_run = true;
        self.attempt_failed(Some(Delivery::MaybeSent), "it ended before it was complete".to_owned());
        let order = self.machine.ended_incomplete();
        self.conclude(attempt, order, StreamEnd::Incomplete, None)
    }

    /// What came is not the rest of what was handed out.
    pub(super) fn not_resumed(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        refused: ResumeRefused,
    ) -> Step<Next<Streams, Inner::Response>> {
        self.may_have_run = true;
        self.attempt_failed(Some(Delivery::Answered), refused.to_string());
        self.refused = Some(refused.clone());
        let failure = Failure::new(Verdict::maybe_sent().permanent(), refused);
        self.end(attempt, StreamEnd::NotResumed, None, Some(failure))
    }
}
