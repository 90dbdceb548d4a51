//! One attempt: it waits for a handle, for the handle to be ready, and for the backend.

use tower_recovery::{Delivery, Verdict};

use super::{
    Model,
    cache::Found,
    task::{Failed, Task},
};
use crate::{
    expect::Expect,
    protocol::{End, Fate, Fault, Reply},
    record::{Cause, Event},
    script::Readiness,
};

#[derive(Debug)]
pub(super) struct Attempt {
    stage: Stage,
    times_out: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// There was no handle when it was sent down.
    Waiting(Option<usize>),
    Addressed(Found),
    Sent {
        to: Found,
        attempt: u32,
        ended: Option<End>,
    },
}

impl Attempt {
    pub(super) fn new(live: Option<Found>) -> Self {
        Self { stage: live.map_or(Stage::Waiting(None), Stage::Addressed), times_out: None }
    }

    /// Whether it still waits for a handle.
    pub(super) fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    pub(super) fn end(&mut self, with: End) {
        let Stage::Sent { ended, .. } = &mut self.stage else { panic!("it is not with the backend") };
        *ended = Some(with);
    }

    pub(super) fn moments(&self) -> Option<u64> {
        self.times_out
    }

    pub(super) fn is_due(&self, model: &Model, now: u64) -> bool {
        self.times_out.is_some_and(|times_out| now >= times_out)
            || match self.stage {
                Stage::Waiting(waiting) => waiting.is_some_and(|flight| model.cache.is_due(flight, now)),
                Stage::Addressed(_) => model.readiness != Readiness::Pending,
                Stage::Sent { ended, .. } => ended.is_some(),
            }
    }
}

impl Model {
    /// Polls an attempt of this call: nothing yet, an answer, or a failure.
    pub(super) fn poll_attempt(
        &mut self,
        task: &Task,
        attempt: &mut Attempt,
        expect: &mut Expect<'_>,
    ) -> Option<Result<Reply, Failed>> {
        if let Stage::Waiting(waiting) = &mut attempt.stage {
            match self.cache.acquire(waiting, expect)? {
                Ok(live) => attempt.stage = Stage::Addressed(live),
                Err(cause) => return Some(Err(Failed::unsent(Verdict::never_sent(), cause, None))),
            }
        }
        if let Stage::Addressed(live) = attempt.stage {
            // Polled late, it sends nothing any more.
            let late = attempt.times_out.is_some_and(|times_out| expect.now() >= times_out);
            match self.readiness {
                _ if late => {}
                Readiness::Ready => {
                    self.attempts += 1;
                    let (call, number) = (task.id, self.attempts);
                    expect.event(Event::Sent { call, silent: task.silent(), handle: live.handle, attempt: number });
                    attempt.stage = Stage::Sent { to: live, attempt: number, ended: self.backend };
                }
                Readiness::Pending => {}
                Readiness::Fails => {
                    let verdict = Verdict::never_sent().stale();
                    return Some(self.judge(Failed::unsent(verdict, Cause::NotReady, Some(live)), expect));
                }
            }
        }
        if let Stage::Sent { to, attempt: number, ended: Some(end) } = attempt.stage {
            // It is taken now: what is dropped from now on is an attempt that has ended.
            attempt.times_out = None;
            return Some(self.ended(number, end, to, expect));
        }
        let now = expect.now();
        let limit = self.settings.attempt_timeout;
        if *attempt.times_out.get_or_insert(now + limit) > now {
            return None;
        }
        let (verdict, handed_over, lease) = match attempt.stage {
            Stage::Sent { to, .. } => (Verdict::maybe_sent().stale(), true, to),
            Stage::Addressed(live) => (Verdict::never_sent().stale(), false, live),
            Stage::Waiting(_) => unreachable!("it has its handle"),
        };
        let cause = Cause::TimedOut { handed_over };
        let failed = Failed { handed_back: !handed_over, ..Failed::unsent(verdict, cause, Some(lease)) };
        Some(self.judge(failed, expect))
    }

    fn ended(&mut self, attempt: u32, end: End, to: Found, expect: &mut Expect<'_>) -> Result<Reply, Failed> {
        let reply = Reply { attempt, end };
        let Some(verdict) = end.verdict() else {
            self.cache.has_served(to.generation);
            return Ok(reply);
        };
        let failed = Failed {
            verdict,
            cause: Cause::Fault(Fault { attempt, end }),
            response: end.is_response().then_some(reply),
            handed_back: end.hands_back(),
            lease: Some(to),
        };
        self.judge(failed, expect)
    }

    /// What indicts the handle evicts it; an answer that does no more than that is an answer.
    fn judge(&mut self, failed: Failed, expect: &mut Expect<'_>) -> Result<Reply, Failed> {
        if let Some(lease) = failed.lease {
            if failed.verdict.is_stale() {
                self.cache.evict(lease.generation, expect);
            } else if failed.verdict.delivery() == Some(Delivery::Answered) {
                self.cache.has_served(lease.generation);
            }
        }
        match failed.response {
            Some(reply) if reply.end.fate() == Fate::Answered => Ok(reply),
            _ => Err(failed),
        }
    }

    /// The attempt is dropped, at its end or before.
    pub(super) fn drop_attempt(&mut self, call: u32, attempt: &Attempt, expect: &mut Expect<'_>) {
        match attempt.stage {
            Stage::Waiting(Some(flight)) => self.cache.leave(flight, expect),
            // An end that nobody has taken makes no difference: the call did not hear of it.
            Stage::Sent { attempt: number, .. } if attempt.times_out.is_some() => {
                expect.event(Event::AttemptDropped { call, attempt: number });
            }
            Stage::Waiting(None) | Stage::Addressed(_) | Stage::Sent { .. } => {}
        }
        if let Some(slots) = &mut self.slots {
            slots.release();
        }
    }
}
