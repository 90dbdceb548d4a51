//! The probes of a silence.

use std::time::Duration;

use tower_recovery::{
    StreamMode,
    stream_replacement::{PreservedBecause, StreamEnd},
};

use super::{Phase, Watch};
use crate::{
    record::{Word, broken},
    script::Health,
    stakes::Stakes,
};

/// So many in a row, and the route is unreachable.
const PROBES_WITHOUT_AN_ANSWER: u32 = 3;

impl Watch {
    pub(in crate::oracle) fn probe_started(&mut self, round: u32, now: Duration, stakes: &mut Stakes) {
        self.waits(now, stakes);
        let may = self.has_probe && self.is_due(now) && !self.must_cancel && !self.settled;
        if !may || !matches!(self.phase, Phase::Open | Phase::Resting { .. }) {
            broken("silence, a probe before its time", format_args!("round {round}, at {now:?}: {self:?}"));
        }
        if self.phase == Phase::Open {
            self.begins_a_silence(now, stakes);
        }
        self.round += 1;
        if round != self.round {
            broken("silence, the rounds are counted", format_args!("{round} and not {}", self.round));
        }
        (self.phase, self.probe_is_called) = (Phase::Probing { since: now }, false);
    }

    pub(in crate::oracle) fn probe_called(&mut self, round: u32) {
        if !self.is_probing() || self.must_cancel || std::mem::replace(&mut self.probe_is_called, true) {
            broken("silence, a probe that nothing asked for", format_args!("round {round}: {self:?}"));
        }
        if round != self.round {
            broken("silence, a probe knows its round", format_args!("{round}: {self:?}"));
        }
    }

    pub(in crate::oracle) fn probe_ended(
        &mut self,
        health: Health,
        now: Duration,
        words: &mut Vec<Word>,
        stakes: &mut Stakes,
    ) -> Option<StreamEnd> {
        self.waits(now, stakes);
        self.probe_is_called = false;
        let Phase::Probing { since } = self.phase else {
            broken("silence, a probe outlives its silence", format_args!("at {now:?}: {self:?}"));
        };
        if health != Health::Healthy {
            return self.unanswered(since, words);
        }
        self.unanswered = 0;
        words.push(Word::ProbeSucceeded);
        if self.mode == StreamMode::RetryOnHealthyProbe {
            self.phase = Phase::Grace { until: now + self.times.grace };
            words.push(Word::GraceStarted);
        } else {
            self.rests(since);
            words.push(Word::Preserved(PreservedBecause::Mode));
        }
        None
    }

    fn unanswered(&mut self, since: Duration, words: &mut Vec<Word>) -> Option<StreamEnd> {
        words.push(Word::ProbeFailed);
        self.unanswered += 1;
        self.rests(since);
        (self.unanswered >= PROBES_WITHOUT_AN_ANSWER).then_some(StreamEnd::Unreachable)
    }

    fn rests(&mut self, since: Duration) {
        let interval = self.times.probe_interval * (1 << (self.round - 1).min(4));
        self.phase = Phase::Resting { until: Some(since + interval) };
    }

    /// A probe is dropped although its stream goes on.
    pub(in crate::oracle) fn probe_dropped(
        &mut self,
        now: Duration,
        words: &mut Vec<Word>,
        stakes: &mut Stakes,
    ) -> Option<StreamEnd> {
        self.waits(now, stakes);
        self.probe_is_called = false;
        if std::mem::take(&mut self.must_cancel) {
            words.push(Word::ProbeCancelled);
            return None;
        }
        match self.phase {
            Phase::Probing { since } if now >= since + self.times.probe_timeout => {
                stakes.meets("silence: a probe that takes too long");
                self.unanswered(since, words)
            }
            _ => broken("silence, a probe has its time", format_args!("dropped at {now:?}: {self:?}")),
        }
    }

    /// After a flood of signs the probe is ordered, and what comes after the flood cancels it before anybody is asked.
    pub(in crate::oracle) fn is_cancelled_before_its_call(&mut self, now: Duration, stakes: &mut Stakes) {
        self.waits(now, stakes);
        if self.probe_is_called || !std::mem::take(&mut self.must_cancel) {
            broken("silence, a probe has its time", format_args!("cancelled at {now:?}: {self:?}"));
        }
    }

    pub(in crate::oracle) fn probe_is_gone(&mut self) {
        self.probe_is_called = false;
    }

    /// Nobody can be asked.
    pub(in crate::oracle) fn is_preserved(&mut self, now: Duration, stakes: &mut Stakes) {
        self.waits(now, stakes);
        let ceiling = self.ceiling();
        let is_over = ceiling.is_some_and(|ceiling| now >= ceiling);
        if self.has_probe || self.phase != Phase::Open || !self.is_due(now) || is_over {
            broken("silence, left alone before its time", format_args!("at {now:?}: {self:?}"));
        }
        self.begins_a_silence(now, stakes);
        self.phase = Phase::Resting { until: ceiling };
    }

    /// When it is given up although nobody can be asked, if ever.
    fn ceiling(&self) -> Option<Duration> {
        let (_, work) = self.quiet?;
        let is_given_up = !self.has_probe && self.mode == StreamMode::RetryOnHealthyProbe;
        is_given_up.then_some(work + self.times.keep_alive_idle)
    }

    /// The attempt is given up.
    pub(in crate::oracle) fn is_abandoned(&mut self, now: Duration, stakes: &mut Stakes) {
        self.waits(now, stakes);
        if self.settled {
            stakes.meets("silence: the rest of a verdict is not waited for");
            if !self.is_due(now) {
                broken("silence, given up before its time", format_args!("at {now:?}: {self:?}"));
            }
            return;
        }
        let is_at_its_ceiling = self.ceiling().is_some_and(|ceiling| now >= ceiling);
        if is_at_its_ceiling {
            stakes.meets(match self.phase {
                Phase::Open => "silence: without a probe, and at once over",
                _ => "silence: without a probe, and over",
            });
        }
        if !is_at_its_ceiling && !matches!(self.phase, Phase::Grace { until } if now >= until) {
            broken("silence, given up before its time", format_args!("at {now:?}: {self:?}"));
        }
    }
}
