//! One call: its attempts one after the other, and what becomes of it.

use tower_recovery::{Delivery, GiveUp, Verdict};

use super::{
    Model,
    attempt::Attempt,
    cache::Found,
    task::{Failed, Phase, Task},
};
use crate::{
    expect::Expect,
    protocol::{Method, Reply, is_unexecuted},
    record::{Cause, Event, Outcome},
};

impl Model {
    /// The first attempt is sent down.
    pub(super) fn begin(&self, task: &mut Task, expect: &mut Expect<'_>) {
        task.ends = self.settings.deadline.map(|deadline| expect.now() + deadline);
        task.fresh = true;
        self.send(task, expect);
    }

    fn send(&self, task: &mut Task, expect: &mut Expect<'_>) {
        task.attempts += 1;
        task.request = task.spec.copyable && task.attempts < self.settings.attempts;
        expect.event(Event::Called { call: task.id, silent: task.silent() });
        task.phase = Phase::Attempt(Attempt::new(self.cache.live()));
    }

    /// Polls the task as far as it goes.
    pub(super) fn run(&mut self, task: &mut Task, expect: &mut Expect<'_>) -> Option<Outcome> {
        let now = expect.now();
        if std::mem::take(&mut task.fresh)
            && let Phase::Refreshing { waiting } = &mut task.phase
        {
            *waiting = Some(self.cache.look_up(now));
        }
        loop {
            let late = task.ends.is_some_and(|ends| now >= ends);
            let mut phase = std::mem::replace(&mut task.phase, Phase::Queued);
            // Nothing more is begun once the deadline has passed; only an answer that is there is taken.
            if late && matches!(phase, Phase::Readying { .. } | Phase::Renewing { .. } | Phase::Pausing { .. }) {
                task.phase = phase;
                return Some(self.give_up(task, GiveUp::Deadline, expect));
            }
            let goes_on = match &mut phase {
                Phase::Queued => false,
                Phase::Refreshing { waiting } => match self.cache.acquire(waiting, expect) {
                    Some(found) => return Some(Self::refreshed(found)),
                    None => false,
                },
                Phase::Readying { asked } => {
                    if !std::mem::replace(asked, true) {
                        expect.event(Event::Asked);
                    }
                    self.slots.as_mut().is_none_or(|slots| slots.ask(task.id))
                }
                Phase::Attempt(attempt) => match self.poll_attempt(task, attempt, expect) {
                    Some(outcome) => {
                        task.phase = phase;
                        if let Some(outcome) = self.after(task, outcome, expect) {
                            return Some(outcome);
                        }
                        continue;
                    }
                    None => false,
                },
                Phase::Renewing { failed_on, waiting } => match self.cache.acquire(waiting, expect) {
                    Some(found) => {
                        let failed_on = *failed_on;
                        if let Some(outcome) = self.renewed(task, failed_on, found, expect) {
                            return Some(outcome);
                        }
                        continue;
                    }
                    None => false,
                },
                Phase::Pausing { earliest, latest } => {
                    if now >= *latest || (now >= *earliest && expect.next() == Some(Event::Asked)) {
                        task.phase = Phase::Readying { asked: false };
                        continue;
                    }
                    false
                }
            };
            match phase {
                Phase::Readying { .. } if goes_on && task.attempts == 0 => self.begin(task, expect),
                Phase::Readying { .. } if goes_on => self.repeat(task, expect),
                waits => {
                    task.phase = waits;
                    task.pending = task.ends.is_some();
                    return late.then(|| self.cut_off(task, expect));
                }
            }
            task.fresh = false;
        }
    }

    fn repeat(&self, task: &mut Task, expect: &mut Expect<'_>) {
        let attempt = task.attempts + 1;
        expect.event(Event::Repeated { attempt, silenced: task.silenced, free: !task.permit });
        task.permit = false;
        self.send(task, expect);
    }

    /// The attempt that the task is in has come to its end.
    fn after(&mut self, task: &mut Task, outcome: Result<Reply, Failed>, expect: &mut Expect<'_>) -> Option<Outcome> {
        let failed = match outcome {
            Ok(reply) => {
                self.deposit(task);
                return Some(Outcome::Reply(reply));
            }
            Err(failed) => failed,
        };
        let delivery = failed.verdict.delivery();
        let generation = failed.lease.map(|lease| lease.generation);
        expect.event(Event::Failed { attempt: task.attempts, delivery, generation });
        // A verdict that comes as an error is an answer too.
        if delivery == Some(Delivery::Answered) {
            self.deposit(task);
        }

        task.may_have_executed |= delivery == Some(Delivery::MaybeSent);
        let reads = !task.spec.method.is_write();
        let repeatable = is_unexecuted(delivery) || (delivery == Some(Delivery::MaybeSent) && reads);
        if !repeatable || failed.verdict.is_permanent() {
            return Some(self.conclude(task, failed, None, expect));
        }
        if task.attempts == self.settings.attempts {
            return Some(self.conclude(task, failed, Some(GiveUp::Attempts), expect));
        }
        task.request |= failed.handed_back;
        if !task.request {
            return Some(self.conclude(task, failed, Some(GiveUp::NoRequest), expect));
        }
        task.silenced = task.may_have_executed && task.spec.method == Method::SilentRead;
        task.last = Some(failed);
        let next = match failed.lease {
            Some(failed_on) => Ok(Phase::Renewing { failed_on, waiting: None }),
            None => self.pay(task).and_then(|()| self.pause(task, expect)),
        };
        match next {
            // The failed attempt is gone before anything else begins.
            Ok(next) => {
                if let Phase::Attempt(attempt) = std::mem::replace(&mut task.phase, next) {
                    self.drop_attempt(task.id, &attempt, expect);
                }
                None
            }
            Err(reason) => Some(self.give_up(task, reason, expect)),
        }
    }

    /// The handle has been looked at: another instance is free of charge, and the first repeat on another handle goes at once.
    fn renewed(
        &mut self,
        task: &mut Task,
        failed_on: Found,
        found: Result<Found, Cause>,
        expect: &mut Expect<'_>,
    ) -> Option<Outcome> {
        let (elsewhere, anew) = match found {
            Ok(found) => (found.identity != failed_on.identity, found.generation != failed_on.generation),
            Err(_) => (false, false),
        };
        let handed_back = task.last.is_some_and(|last| last.handed_back);
        let paid = if elsewhere || (anew && handed_back) { Ok(()) } else { self.pay(task) };
        let next = paid.and_then(|()| match anew && task.attempts == 1 {
            true => Ok(Phase::Readying { asked: false }),
            false => self.pause(task, expect),
        });
        match next {
            Ok(next) => {
                task.phase = next;
                None
            }
            Err(reason) => Some(self.give_up(task, reason, expect)),
        }
    }

    fn pay(&mut self, task: &mut Task) -> Result<(), GiveUp> {
        task.permit = self.budget.withdraw();
        if task.permit { Ok(()) } else { Err(GiveUp::Budget) }
    }

    fn pause(&self, task: &Task, expect: &Expect<'_>) -> Result<Phase, GiveUp> {
        let whole = (self.settings.pause_step * u64::from(task.attempts)).min(self.settings.pause_ceiling);
        let (earliest, latest) = (expect.now() + whole / 2, expect.now() + whole);
        let gives_up = matches!(expect.next(), Some(Event::GivenUp { reason: GiveUp::Deadline, .. }));
        match task.ends {
            Some(ends) if earliest >= ends || (latest >= ends && gives_up) => Err(GiveUp::Deadline),
            _ => Ok(Phase::Pausing { earliest, latest }),
        }
    }

    /// The bounds of the call forbid a further attempt.
    fn give_up(&mut self, task: &mut Task, reason: GiveUp, expect: &mut Expect<'_>) -> Outcome {
        let last = task.last.expect("nothing is repeated without a failure");
        self.conclude(task, last, Some(reason), expect)
    }

    /// The deadline has passed within an attempt. One that has no handle yet was not sent.
    fn cut_off(&self, task: &Task, expect: &mut Expect<'_>) -> Outcome {
        let waits = matches!(&task.phase, Phase::Attempt(attempt) if attempt.waits());
        let verdict = if waits && !task.may_have_executed { Verdict::never_sent() } else { Verdict::maybe_sent() };
        let (delivery, attempts) = (verdict.delivery(), task.attempts);
        expect.event(Event::GivenUp { attempts, delivery, reason: GiveUp::Deadline });
        let cause = Cause::Deadline { after_a_failure: task.last.is_some() };
        Outcome::Failure { verdict, attempts, exhausted: true, cause }
    }

    fn conclude(
        &mut self,
        task: &mut Task,
        failed: Failed,
        reason: Option<GiveUp>,
        expect: &mut Expect<'_>,
    ) -> Outcome {
        if std::mem::take(&mut task.permit) {
            self.budget.give_back();
        }
        let delivery = failed.verdict.delivery();
        let in_doubt = task.may_have_executed && (delivery.is_none() || is_unexecuted(delivery));
        let verdict = if in_doubt { doubtful(failed.verdict) } else { failed.verdict };
        let attempts = task.attempts;
        if let Some(reason) = reason {
            expect.event(Event::GivenUp { attempts, delivery: verdict.delivery(), reason });
        }
        if let Some(reply) = failed.response {
            return Outcome::Reply(reply);
        }
        let exhausted = reason.is_some_and(|reason| reason != GiveUp::NoRequest);
        Outcome::Failure { verdict, attempts, exhausted, cause: failed.cause }
    }

    fn deposit(&mut self, task: &Task) {
        match self.slots {
            Some(_) => self.budget.answered_once(),
            None => self.budget.answered(task.spec.clone),
        }
    }

    /// The future of the task is dropped, whether it has ended or not.
    pub(super) fn clean_up(&mut self, mut task: Task, expect: &mut Expect<'_>) {
        match &task.phase {
            Phase::Queued => self.queue.retain(|queued| *queued != task.id),
            Phase::Readying { .. } => self.slots.iter_mut().for_each(|slots| slots.abandon(task.id)),
            Phase::Attempt(attempt) => self.drop_attempt(task.id, attempt, expect),
            Phase::Renewing { waiting, .. } | Phase::Refreshing { waiting } => {
                waiting.iter().for_each(|flight| self.cache.leave(*flight, expect));
            }
            Phase::Pausing { .. } => {}
        }
        if std::mem::take(&mut task.permit) {
            self.budget.give_back();
        }
    }
}

/// One attempt that may have executed is enough.
fn doubtful(verdict: Verdict) -> Verdict {
    let doubtful = if verdict.is_stale() { Verdict::maybe_sent().stale() } else { Verdict::maybe_sent() };
    if verdict.is_permanent() { doubtful.permanent() } else { doubtful }
}
