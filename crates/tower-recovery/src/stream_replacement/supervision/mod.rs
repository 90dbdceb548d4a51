//! The decisions about one stream. Pure: moments and chance are arguments, and what is ordered somebody else does.

mod order;
mod pulse;

use tokio::time::{Duration, Instant};

pub use self::order::PreservedBecause;
pub(super) use self::{
    order::{NotReplaced, Order, Probed, Sign},
    pulse::Pulse,
};
use super::{ReplacementBasis, StreamEnd};
use crate::{Delivery, GiveUp, StreamMode, StreamPolicy, Verdict, clock};

/// So many probes in a row without an answer, and the route is unreachable.
const PROBES_WITHOUT_AN_ANSWER: u32 = 3;

/// What is known of one stream, from the call of its first attempt to its end.
#[derive(Clone, Debug)]
pub(super) struct Supervision {
    policy: StreamPolicy,
    has_probe: bool,
    /// Which attempt it is, from 1.
    attempt: u32,
    /// Something was handed out that cannot be taken back.
    committed: bool,
    /// The other side gave a verdict: what comes is its answer, and is not watched.
    settled: bool,
    last_sign: Instant,
    last_content: Instant,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first attempt is under way, and was not waited for yet: no clock was read.
    New,
    /// An attempt is under way, and not known to be silent.
    Open,
    /// It is silent, and a probe was sent then.
    Probing { silence: Silence, since: Instant },
    /// It is silent, and the next probe is due then, if ever.
    Resting { silence: Silence, until: Option<Instant> },
    /// It is silent, its route answers, and it is waited for until then.
    Grace { silence: Silence, until: Instant },
    /// No attempt is under way: between two of them, or after the end.
    NoAttempt,
}

/// One silence, which ends with the next sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Silence {
    missing: Sign,
    /// Which probe is next, or out, from 1.
    round: u32,
    unanswered: u32,
}

impl Supervision {
    /// `whenever` is any moment: time begins when [`started`](Self::started) is told.
    pub(super) fn new(policy: StreamPolicy, has_probe: bool, whenever: Instant) -> Self {
        Self {
            policy,
            has_probe,
            attempt: 1,
            committed: false,
            settled: false,
            last_sign: whenever,
            last_content: whenever,
            phase: Phase::New,
        }
    }

    /// Whether the stream was not waited for yet.
    pub(super) fn is_new(&self) -> bool {
        self.phase == Phase::New
    }

    /// Which attempt it is, from 1.
    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether anything is to be done about this stream at all: neither is where the policy says so, nor once the other side has given its verdict.
    pub(super) fn is_watched(&self) -> bool {
        !self.settled && self.policy.mode() != StreamMode::Disabled
    }

    /// Whether the other side has given its verdict.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Whether its silence means anything. An answer that is a verdict is watched no more, but who wants replacements does not want to wait for the end of one for
    /// ever.
    pub(super) fn is_timed(&self) -> bool {
        match self.policy.mode() {
            StreamMode::RetryOnHealthyProbe => true,
            StreamMode::Preserve => !self.settled,
            StreamMode::Disabled => false,
        }
    }

    /// Whether another attempt may come, so that a request for it is to be kept.
    pub(super) fn may_replace(&self) -> bool {
        self.refusal().is_none()
    }

    /// When the last sign of life was.
    pub(super) fn last_sign(&self) -> Instant {
        self.last_sign
    }

    /// When [`due`](Self::due) is to be asked again, if nothing happens before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if !self.is_timed() {
            return None;
        }
        match self.phase {
            Phase::Open => {
                let silent = clock::later(self.last_sign, self.policy.idle());
                Some(silent.min(clock::later(self.last_content, self.policy.keep_alive_idle())))
            }
            Phase::Probing { since, .. } => Some(clock::later(since, self.policy.probe_timeout())),
            Phase::Resting { until, .. } => until,
            Phase::Grace { until, .. } => Some(until),
            Phase::New | Phase::NoAttempt => None,
        }
    }

    /// There was a sign of life. It ends the silence that it breaks: keep-alives say nothing against a lack of content.
    pub(super) fn sign(&mut self, sign: Sign, now: Instant) -> Option<Order> {
        self.last_sign = now;
        if sign == Sign::Content {
            self.last_content = now;
        }
        self.break_silence(sign)
    }

    fn break_silence(&mut self, sign: Sign) -> Option<Order> {
        if sign < self.silence()?.missing {
            return None;
        }
        let is_probing = matches!(self.phase, Phase::Probing { .. });
        self.phase = Phase::Open;
        is_probing.then_some(Order::CancelProbe)
    }

    fn silence(&self) -> Option<Silence> {
        match self.phase {
            Phase::Probing { silence, .. } | Phase::Resting { silence, .. } | Phase::Grace { silence, .. } => {
                Some(silence)
            }
            Phase::New | Phase::Open | Phase::NoAttempt => None,
        }
    }

    /// What is due now. To be asked until nothing is.
    pub(super) fn due(&mut self, now: Instant) -> Option<Order> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        match self.phase {
            // ## Open => NoAttempt: the rest of a verdict does not come.
            Phase::Open if self.settled => Some(self.end(StreamEnd::Silent, NotReplaced::Final)),
            // ## Open => (Probing | Resting | NoAttempt)
            Phase::Open => {
                let without_a_sign = now.saturating_duration_since(self.last_sign) >= self.policy.idle();
                let missing = if without_a_sign { Sign::KeepAlive } else { Sign::Content };
                let silence = Silence { missing, round: 1, unanswered: 0 };
                Some(if self.has_probe { self.start_probe(silence, now) } else { self.rest_unprobed(silence, now) })
            }
            // ## Probing: it is told what became of the probe.
            Phase::Probing { .. } => Some(Order::TimeOutProbe),
            // ## Resting => NoAttempt: nobody can say whether the route works.
            Phase::Resting { .. } if !self.has_probe => Some(self.end(StreamEnd::Silent, NotReplaced::Final)),
            // ## Resting => Probing
            Phase::Resting { silence, .. } => {
                Some(self.start_probe(Silence { round: silence.round + 1, ..silence }, now))
            }
            // ## Grace => NoAttempt, at once or when it is told of the replacement
            Phase::Grace { .. } => {
                let basis = ReplacementBasis::HealthySideCallAndNoActivityThroughGrace;
                Some(self.replace_or_end(basis, StreamEnd::Silent))
            }
            Phase::New | Phase::NoAttempt => None,
        }
    }

    /// A silence proves nothing, so nothing is replaced; but where a replacement is wanted, nobody wants to wait for ever either.
    fn rest_unprobed(&mut self, silence: Silence, now: Instant) -> Order {
        let ceiling = clock::later(self.last_content, self.policy.keep_alive_idle());
        let is_ended_some_time = self.policy.mode() == StreamMode::RetryOnHealthyProbe;
        if is_ended_some_time && now >= ceiling {
            return self.end(StreamEnd::Silent, NotReplaced::Final);
        }
        self.phase = Phase::Resting { silence, until: is_ended_some_time.then_some(ceiling) };
        Order::Preserve(PreservedBecause::NoProbe)
    }

    fn start_probe(&mut self, silence: Silence, now: Instant) -> Order {
        self.phase = Phase::Probing { silence, since: now };
        Order::StartProbe { round: silence.round }
    }

    /// The probe that is out has come to this.
    pub(super) fn probed(&mut self, probed: Probed, now: Instant) -> Option<Order> {
        let Phase::Probing { mut silence, since } = self.phase else { return None };
        match probed {
            Probed::Healthy if self.policy.mode() == StreamMode::RetryOnHealthyProbe => {
                self.phase = Phase::Grace { silence, until: clock::later(now, self.policy.recovery_grace()) };
                return Some(Order::StartGrace);
            }
            Probed::Healthy => silence.unanswered = 0,
            Probed::Unanswered => silence.unanswered += 1,
        }
        if silence.unanswered >= PROBES_WITHOUT_AN_ANSWER {
            return Some(self.end(StreamEnd::Unreachable, NotReplaced::Final));
        }
        let next = clock::later(since, self.policy.probe_interval(silence.round));
        self.phase = Phase::Resting { silence, until: Some(next) };
        (probed == Probed::Healthy).then_some(Order::Preserve(PreservedBecause::Mode))
    }

    /// Whether a failure has spent what the whole call has, so that nothing above may go on. Who repeats what provably did not execute has attempts of its own: when
    /// they are spent, a replacement is still the next thing to try, later, and out of the budget of streams.
    pub(super) fn is_spent(verdict: Verdict, gave_up: Option<GiveUp>) -> bool {
        match gave_up {
            Some(GiveUp::Attempts) => !verdict.delivery().is_some_and(Delivery::is_send_side),
            Some(GiveUp::Budget | GiveUp::Deadline) => true,
            Some(GiveUp::NoRequest | GiveUp::IncompleteCopy) | None => false,
        }
    }

    /// The attempt has failed with this.
    pub(super) fn failed(&mut self, verdict: Verdict, is_spent: bool) -> Order {
        let without_a_verdict =
            matches!(verdict.delivery(), Some(Delivery::NeverSent | Delivery::Refused | Delivery::MaybeSent));
        if self.settled || !without_a_verdict || verdict.is_permanent() || is_spent {
            return self.end(StreamEnd::Dropped, NotReplaced::Final);
        }
        self.replace_or_end(ReplacementBasis::RetryableTransportFailure, StreamEnd::Dropped)
    }

    /// The attempt has ended by itself before it was complete.
    pub(super) fn ended_incomplete(&mut self) -> Order {
        self.replace_or_end(ReplacementBasis::RetryableTransportFailure, StreamEnd::Incomplete)
    }

    fn replace_or_end(&mut self, basis: ReplacementBasis, end: StreamEnd) -> Order {
        match self.refusal() {
            None => Order::Replace(basis),
            Some(refusal) => self.end(end, refusal),
        }
    }

    fn end(&mut self, end: StreamEnd, why: NotReplaced) -> Order {
        self.phase = Phase::NoAttempt;
        Order::End(end, why)
    }

    /// Why there may be no other attempt, whatever happens to this one.
    fn refusal(&self) -> Option<NotReplaced> {
        if self.settled {
            Some(NotReplaced::Final)
        } else if self.policy.mode() != StreamMode::RetryOnHealthyProbe {
            Some(NotReplaced::Mode)
        } else if self.committed {
            Some(NotReplaced::Committed)
        } else if self.attempt > self.policy.max_replacements() {
            Some(NotReplaced::Spent)
        } else {
            None
        }
    }

    /// The attempt is dropped, and the next one counted. It starts after this pause; `chance` is from 0 to 1.
    pub(super) fn replaced(&mut self, chance: f64) -> Duration {
        let pause = self.policy.replacement_pause(self.attempt, chance);
        self.attempt += 1;
        self.phase = Phase::NoAttempt;
        pause
    }

    /// The next attempt starts, or the first one is waited for.
    pub(super) fn started(&mut self, now: Instant) {
        (self.last_sign, self.last_content, self.phase) = (now, now, Phase::Open);
    }

    /// Something was handed out that cannot be taken back.
    pub(super) fn commit(&mut self) {
        self.committed = true;
    }

    /// The other side has given its verdict, which ends a silence as content does.
    pub(super) fn settle(&mut self) -> Option<Order> {
        self.settled = true;
        if self.phase == Phase::NoAttempt {
            // A refusal that outlived the attempts: what is left is its answer, of which no time has passed.
            self.phase = Phase::New;
        }
        self.break_silence(Sign::Content)
    }
}

#[cfg(test)]
mod tests;
