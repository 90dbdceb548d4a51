//! What comes after an attempt: another one, or the end of the stream.

use std::pin::Pin;

use tokio::time::Instant;
use tower::BoxError;
use tower_service::Service;

use super::{Attempt, Call, Next, Stage, Step};
use crate::{
    Delivery, Failure, GiveUp, RecoveryEvent, RequestRules, Verdict, clock,
    stream_replacement::{
        ReplacementBasis, Resume, ResumeRefused, StreamBroken, StreamEnd, StreamRules,
        supervision::{NotReplaced, Order},
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
    /// An attempt is over: another one takes its place, or the stream ends.
    pub(super) fn conclude(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        order: Order,
        happened: StreamEnd,
        failure: Option<Failure>,
    ) -> Step<Next<Streams, Inner::Response>> {
        match order {
            Order::Replace(basis) => {
                // What was handed back is sent before a copy: it is the same request, and it may be the only one there is.
                let unsent = failure.as_ref().and_then(Failure::take_unsent);
                let was_handed_back = unsent.is_some();
                self.next = unsent.or_else(|| self.next.take());
                match self.request_for_another() {
                    Ok(()) => self.replace(attempt, basis),
                    Err(none) => {
                        let gave_up = none.give_up();
                        self.refused = none.refused();
                        // A request that is not whole any more is nobody's to send.
                        let unsent = self.next.take().filter(|_| was_handed_back && gave_up == GiveUp::NoRequest);
                        let failure = match (failure, unsent) {
                            (Some(failure), Some(unsent)) => Some(failure.with_unsent(unsent)),
                            (failure, _) => failure,
                        };
                        self.end(attempt, happened, Some(gave_up), failure)
                    }
                }
            }
            Order::End(end, NotReplaced::Spent) => {
                self.say(|route, method, attempts| RecoveryEvent::RecoveryExhausted { route, method, attempts });
                self.end(attempt, end, Some(GiveUp::Attempts), failure)
            }
            Order::End(end, _) => {
                if end == StreamEnd::Unreachable {
                    self.say(|route, method, attempts| RecoveryEvent::RecoveryProviderUnreachable {
                        route,
                        method,
                        attempts,
                    });
                }
                self.end(attempt, end, None, failure)
            }
            _ => unreachable!("an attempt that is over is replaced, or the stream ends"),
        }
    }

    /// Sees to it that there is a request for another attempt.
    fn request_for_another(&mut self) -> Result<(), NoRequest> {
        let next = self.next.as_mut().ok_or(NoRequest::NoCopy)?;
        if !self.block.rules.is_whole(next) {
            return Err(NoRequest::IncompleteCopy);
        }
        if self.account.has_handed_out() {
            self.resume.ask(next).map_err(NoRequest::NotResumable)?;
        }
        Ok(())
    }

    fn replace(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        basis: ReplacementBasis,
    ) -> Step<Next<Streams, Inner::Response>> {
        // The attempt that is given up is closed before anything else is begun.
        self.close(attempt);
        self.account.discard(self.machine.attempt(), basis);
        let closed = self.machine.attempt();
        let pause = self.machine.replaced(fastrand::f64());
        let duplicate_server_work_possible = self.may_have_run;
        self.say(|route, method, _| RecoveryEvent::RecoveryReplacementProposed {
            route,
            method,
            attempt: closed,
            basis,
            pause,
            duplicate_server_work_possible,
        });
        self.stage = Stage::Pausing(clock::later(Instant::now(), pause));
        Step::Next
    }

    /// The stream is over without being complete.
    pub(super) fn end(
        &mut self,
        mut attempt: Pin<&mut Attempt<Inner::Future>>,
        reason: StreamEnd,
        gave_up: Option<GiveUp>,
        failure: Option<Failure>,
    ) -> Step<Next<Streams, Inner::Response>> {
        let had_opened = matches!(self.stage, Stage::Streaming(_));
        let was_watched = self.machine.is_watched();
        self.close(attempt.as_mut());
        self.next = None;
        // A refusal that is not repeated any more is an answer, and goes out as the response that it is.
        if !had_opened && let Some(response) = failure.as_ref().and_then(Failure::take_response) {
            self.settle();
            return self.answered(attempt, response);
        }
        let is_the_first = self.machine.attempt() == 1 && !had_opened;
        // What a layer below has exhausted is to stop an outer one, too, whatever stands round it by then.
        let gave_up = gave_up.or_else(|| failure.as_ref().and_then(Failure::gave_up));
        let proven = failure.as_ref().map_or(Some(Delivery::MaybeSent), Failure::delivery);
        let is_final = matches!(proven, None | Some(Delivery::Answered));
        let is_untouched = is_the_first || is_final || !was_watched;
        let mut out = match failure {
            Some(failure) if is_untouched && reason != StreamEnd::NotResumed => failure,
            other => self.broken(reason, other),
        };
        out.set_attempts(self.attempts());
        if let Some(gave_up) = gave_up {
            out.set_gave_up(gave_up);
        }
        Step::Out(Some(Err(out)))
    }

    fn broken(&mut self, reason: StreamEnd, failure: Option<Failure>) -> Failure {
        let mut verdict = failure.as_ref().map_or(Verdict::never_sent(), Failure::verdict);
        if reason == StreamEnd::Silent && self.machine.is_settled() {
            // The rest of it does not come, and the verdict had.
            verdict = Verdict::answered();
        } else if self.may_have_run {
            verdict = verdict.with_delivery(Delivery::MaybeSent);
        }
        let lease = failure.as_ref().and_then(Failure::lease).cloned();
        let report = self.report();
        let mut broken =
            Failure::new(verdict, StreamBroken::new(reason, report, self.refused.take(), failure.map(Into::into)));
        if let Some(lease) = lease {
            broken.set_lease(lease);
        }
        broken
    }
}

/// Why there is no request for another attempt.
enum NoRequest {
    NoCopy,
    IncompleteCopy,
    NotResumable(ResumeRefused),
}

impl NoRequest {
    fn give_up(&self) -> GiveUp {
        match self {
            Self::IncompleteCopy => GiveUp::IncompleteCopy,
            Self::NoCopy | Self::NotResumable(_) => GiveUp::NoRequest,
        }
    }

    fn refused(self) -> Option<ResumeRefused> {
        match self {
            Self::NotResumable(refused) => Some(refused),
            Self::NoCopy | Self::IncompleteCopy => None,
        }
    }
}
