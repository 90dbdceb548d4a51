//! What must happen, said of plain facts: how long ago things were, and no phases.

use super::{
    super::{NotReplaced, Order, PreservedBecause, Probed, Sign},
    Times,
};
use crate::{
    StreamMode,
    stream_replacement::{ReplacementBasis, StreamEnd},
};

/// All that is known of a stream. Times are ages in milliseconds, so that what differs only in its moment is the same.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) times: Times,
    pub(super) mode: StreamMode,
    pub(super) has_probe: bool,
    pub(super) max_replacements: u32,
    pub(super) facts: Facts,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Facts {
    pub(super) attempts: u32,
    /// Nobody has waited for it yet, and no time has passed.
    pub(super) is_new: bool,
    pub(super) is_under_way: bool,
    pub(super) has_ended: bool,
    pub(super) is_committed: bool,
    pub(super) has_verdict: bool,
    pub(super) since_sign: i64,
    since_content: i64,
    /// What the silence lacks, if there is one. What follows is about this silence.
    pub(super) lacks: Option<Sign>,
    probes: u32,
    in_a_row: u32,
    /// Since the last probe was sent, and whether it is still out.
    since_probe: i64,
    pub(super) probe_is_out: bool,
    since_healthy: Option<i64>,
}

impl Model {
    pub(super) fn new(times: Times, mode: StreamMode, has_probe: bool, max_replacements: u32) -> Self {
        let facts = Facts {
            attempts: 1,
            is_new: true,
            is_under_way: true,
            has_ended: false,
            is_committed: false,
            has_verdict: false,
            since_sign: 0,
            since_content: 0,
            lacks: None,
            probes: 0,
            in_a_row: 0,
            since_probe: 0,
            probe_is_out: false,
            since_healthy: None,
        };
        Self { times, mode, has_probe, max_replacements, facts }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.mode != StreamMode::Disabled && !self.facts.has_verdict
    }

    pub(super) fn pass(&mut self, time: i64) {
        self.facts.since_sign += time;
        self.facts.since_content += time;
        self.facts.since_probe += if self.facts.probes > 0 { time } else { 0 };
        self.facts.since_healthy = self.facts.since_healthy.map(|since| since + time);
    }

    /// How long until something is due. Not above zero: it is.
    pub(super) fn due_in(&self) -> Option<i64> {
        let (times, facts) = (self.times, &self.facts);
        let is_timed = self.is_watched() || self.mode == StreamMode::RetryOnHealthyProbe;
        if !is_timed || !facts.is_under_way || facts.is_new {
            return None;
        }
        if facts.lacks.is_none() {
            let (sign, content) = (times.idle - facts.since_sign, times.keep_alive_idle - facts.since_content);
            return Some(sign.min(content));
        }
        if facts.probes == 0 {
            return self.ends_unprobed().then_some(times.keep_alive_idle - facts.since_content);
        }
        Some(match facts.since_healthy {
            _ if facts.probe_is_out => times.probe_timeout - facts.since_probe,
            Some(since) => times.grace - since,
            None => times.probe_interval * [1, 2, 4, 8, 16][facts.probes.min(5) as usize - 1] - facts.since_probe,
        })
    }

    /// Who wants replacements and has no probe does not wait for ever.
    fn ends_unprobed(&self) -> bool {
        self.mode == StreamMode::RetryOnHealthyProbe
    }

    pub(super) fn due(&mut self) -> Option<Order> {
        if self.due_in()? > 0 {
            return None;
        }
        if self.facts.has_verdict {
            return Some(self.end(StreamEnd::Silent, NotReplaced::Final));
        }
        if !self.has_probe && self.ends_unprobed() && self.facts.since_content >= self.times.keep_alive_idle {
            return Some(self.end(StreamEnd::Silent, NotReplaced::Final));
        }
        let facts = &mut self.facts;
        if facts.probe_is_out {
            return Some(Order::TimeOutProbe);
        }
        if facts.since_healthy.is_some() {
            return Some(self.give_up(ReplacementBasis::HealthySideCallAndNoActivityThroughGrace, StreamEnd::Silent));
        }
        if facts.lacks.is_none() {
            let lacks_everything = facts.since_sign >= self.times.idle;
            facts.lacks = Some(if lacks_everything { Sign::KeepAlive } else { Sign::Content });
            if !self.has_probe {
                return Some(Order::Preserve(PreservedBecause::NoProbe));
            }
        }
        (facts.probes, facts.since_probe, facts.probe_is_out) = (facts.probes + 1, 0, true);
        Some(Order::StartProbe { round: facts.probes })
    }

    pub(super) fn sign(&mut self, sign: Sign) -> Option<Order> {
        let facts = &mut self.facts;
        facts.since_sign = 0;
        if sign == Sign::Content {
            facts.since_content = 0;
        }
        if sign == Sign::KeepAlive && facts.lacks == Some(Sign::Content) {
            return None;
        }
        self.end_silence()
    }

    pub(super) fn probed(&mut self, probed: Probed) -> Option<Order> {
        let facts = &mut self.facts;
        if !facts.probe_is_out {
            return None;
        }
        facts.probe_is_out = false;
        match (probed, self.mode) {
            (Probed::Healthy, StreamMode::RetryOnHealthyProbe) => {
                facts.since_healthy = Some(0);
                Some(Order::StartGrace)
            }
            (Probed::Healthy, _) => {
                facts.in_a_row = 0;
                Some(Order::Preserve(PreservedBecause::Mode))
            }
            (Probed::Unanswered, _) => {
                facts.in_a_row += 1;
                (facts.in_a_row == 3).then(|| self.end(StreamEnd::Unreachable, NotReplaced::Final))
            }
        }
    }

    /// The attempt is gone by itself, for a reason that forbids another one or not.
    pub(super) fn gone(&mut self, end: StreamEnd, is_final: bool) -> Order {
        if is_final {
            return self.end(end, NotReplaced::Final);
        }
        self.give_up(ReplacementBasis::RetryableTransportFailure, end)
    }

    pub(super) fn refusal(&self) -> Option<NotReplaced> {
        let reasons = [
            (self.facts.has_verdict, NotReplaced::Final),
            (self.mode != StreamMode::RetryOnHealthyProbe, NotReplaced::Mode),
            (self.facts.is_committed, NotReplaced::Committed),
            (self.facts.attempts == 1 + self.max_replacements, NotReplaced::Spent),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }

    fn give_up(&mut self, basis: ReplacementBasis, end: StreamEnd) -> Order {
        if let Some(refusal) = self.refusal() {
            return self.end(end, refusal);
        }
        self.end_silence();
        (self.facts.is_under_way, self.facts.is_new) = (false, false);
        self.facts.attempts += 1;
        Order::Replace(basis)
    }

    fn end(&mut self, end: StreamEnd, why: NotReplaced) -> Order {
        self.end_silence();
        (self.facts.is_under_way, self.facts.is_new, self.facts.has_ended) = (false, false, true);
        Order::End(end, why)
    }

    pub(super) fn start(&mut self) {
        (self.facts.since_sign, self.facts.since_content) = (0, 0);
        (self.facts.is_under_way, self.facts.is_new) = (true, false);
    }

    pub(super) fn settle(&mut self) -> Option<Order> {
        self.facts.has_verdict = true;
        if !self.facts.is_under_way {
            (self.facts.is_under_way, self.facts.is_new) = (true, true);
        }
        self.end_silence()
    }

    fn end_silence(&mut self) -> Option<Order> {
        let facts = &mut self.facts;
        (facts.lacks, facts.probes, facts.since_probe, facts.in_a_row, facts.since_healthy) = (None, 0, 0, 0, None);
        std::mem::take(&mut facts.probe_is_out).then_some(Order::CancelProbe)
    }
}
