//! Watching a stream that is waited for.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::FutureExt;
use tokio::time::Instant;
use tower::BoxError;
use tower_service::Service;

use super::{Attempt, Call, Next, Stage, Step};
use crate::{
    RecoveryEvent, RequestRules, event,
    stream_replacement::{
        Health, ProbeRequest, Resume, StreamEnd, StreamRules,
        supervision::{Order, Probed},
    },
};

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
    /// The stream is pending: tells the machine what there was since, and does what is due.
    pub(super) fn poll_watch(
        &mut self,
        mut attempt: Pin<&mut Attempt<Inner::Future>>,
        context: &mut Context<'_>,
    ) -> Poll<Step<Next<Streams, Inner::Response>>> {
        if !self.machine.is_timed() || self.is_between_attempts() {
            return Poll::Pending;
        }
        self.tell_signs();
        if let Some(Poll::Ready(outcome)) = self.probing.as_mut().map(|probing| probing.poll_unpin(context)) {
            self.probing = None;
            return Poll::Ready(self.probed(attempt, outcome));
        }
        loop {
            let quiet_since = self.machine.last_sign();
            let next_word = self.pulse.deadline(quiet_since);
            let moment = self.machine.deadline().map_or(next_word, |due| due.min(next_word));
            ready!(attempt.as_mut().poll_timer(moment, context));
            let now = Instant::now();
            if let Some(silent_for) = self.pulse.is_waiting(quiet_since, now) {
                self.say(|route, method, attempt| RecoveryEvent::CallWaiting { route, method, attempt, silent_for });
            }
            if let Some(order) = self.machine.due(now) {
                return Poll::Ready(self.obey(attempt, order, now));
            }
        }
    }

    pub(super) fn tell_signs(&mut self) {
        if self.machine.is_new() {
            self.machine.started(Instant::now());
        }
        let Some(sign) = self.account.take_untold() else { return };
        let now = Instant::now();
        if let Some(Order::CancelProbe) = self.machine.sign(sign, now) {
            self.cancel_probe();
        }
        if self.pulse.is_active(now) {
            let (items, _) = self.account.received();
            self.whisper(|route, method, attempt| RecoveryEvent::CallActivity { route, method, attempt, items });
        }
    }

    fn probed(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        outcome: Result<Health, BoxError>,
    ) -> Step<Next<Streams, Inner::Response>> {
        let cause = match outcome {
            Ok(Health::Healthy) => {
                self.say(|route, method, attempt| RecoveryEvent::RecoveryProbeSucceeded { route, method, attempt });
                None
            }
            Ok(Health::Refused) => Some("what came is no real answer".to_owned()),
            Err(error) => Some(event::text(error.as_ref())),
        };
        let probed = match cause {
            None => Probed::Healthy,
            Some(cause) => self.probe_failed(cause),
        };
        let now = Instant::now();
        match self.machine.probed(probed, now) {
            Some(order) => self.obey(attempt, order, now),
            None => Step::Next,
        }
    }

    fn probe_failed(&self, cause: String) -> Probed {
        self.say(|route, method, attempt| RecoveryEvent::RecoveryProbeFailed { route, method, attempt, cause });
        Probed::Unanswered
    }

    /// Does what is ordered of a stream that is silent.
    fn obey(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        order: Order,
        now: Instant,
    ) -> Step<Next<Streams, Inner::Response>> {
        match order {
            Order::StartProbe { round } => {
                self.say(|route, method, attempt| RecoveryEvent::RecoveryProbeStarted {
                    route,
                    method,
                    attempt,
                    round,
                });
                self.probing = self.block.policy.probe.as_ref().map(|probe| probe(ProbeRequest { round }));
            }
            Order::CancelProbe => self.cancel_probe(),
            Order::TimeOutProbe => {
                self.probing = None;
                let probed = self.probe_failed("it took too long".to_owned());
                if let Some(order) = self.machine.probed(probed, now) {
                    return self.obey(attempt, order, now);
                }
            }
            Order::Preserve(reason) => {
                self.say(|route, method, attempt| RecoveryEvent::RecoveryOriginalPreserved {
                    route,
                    method,
                    attempt,
                    reason,
                });
            }
            Order::StartGrace => {
                self.say(|route, method, attempt| RecoveryEvent::RecoveryGraceStarted { route, method, attempt });
            }
            Order::Replace(_) | Order::End(..) => {
                let (items, bytes) = self.account.received();
                self.say(|route, method, attempt| RecoveryEvent::PhysicalAttemptAbandoned {
                    route,
                    method,
                    attempt,
                    items,
                    bytes,
                });
                // What it does to this day nobody knows, unless it still waits to be sent.
                self.may_have_run |= !matches!(self.stage, Stage::Readying(_));
                return self.conclude(attempt, order, StreamEnd::Silent, None);
            }
        }
        Step::Next
    }
}
