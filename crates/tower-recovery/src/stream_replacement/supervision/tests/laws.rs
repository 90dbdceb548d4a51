//! What may never happen, whatever else does: seen from outside, in events and orders alone.

use super::{
    super::{NotReplaced, Order, Probed, Sign},
    Times,
};
use crate::{
    StreamMode,
    stream_replacement::{ReplacementBasis, StreamEnd},
};

/// Whoever sees each event and each order, and panics at the first that breaks a law.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    times: Times,
    has_probe: bool,
    max_replacements: u32,
    seen: Seen,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// Something has happened after which there may be no other attempt.
    is_untouchable: bool,
    has_verdict: bool,
    has_ended: bool,
    replacements: u32,
    since_sign: i64,
    since_content: i64,
    /// What the attempt lacks since it was first said to be silent.
    silent_of: Option<Sign>,
    last_round: u32,
    /// How long a probe is out, and how long ago one that was out was answered.
    probe_out: Option<i64>,
    healthy: Option<i64>,
    in_a_row: u32,
}

impl Laws {
    pub(super) fn new(times: Times, mode: StreamMode, has_probe: bool, max_replacements: u32) -> Self {
        let seen = Seen {
            is_untouchable: mode != StreamMode::RetryOnHealthyProbe,
            has_verdict: false,
            has_ended: false,
            replacements: 0,
            since_sign: 0,
            since_content: 0,
            silent_of: None,
            last_round: 0,
            probe_out: None,
            healthy: None,
            in_a_row: 0,
        };
        Self { times, has_probe, max_replacements, seen }
    }

    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    pub(super) fn pass(&mut self, time: i64) {
        self.seen.since_sign += time;
        self.seen.since_content += time;
        for since in [&mut self.seen.probe_out, &mut self.seen.healthy].into_iter().flatten() {
            *since += time;
        }
    }

    /// Each order, before it is carried out.
    pub(super) fn ordered(&mut self, order: Order) {
        let Self { times, ref mut seen, .. } = *self;
        assert!(!seen.has_ended, "no order is given after the end");
        match order {
            Order::StartProbe { round } => {
                assert_eq!(seen.probe_out, None, "one probe at a time");
                assert_eq!(round, seen.last_round + 1, "the rounds of a silence are counted");
                assert!(!seen.has_verdict);
                (seen.last_round, seen.probe_out) = (round, Some(0));
                self.fell_silent();
            }
            Order::CancelProbe => assert!(seen.probe_out.take().is_some(), "what is cancelled is out"),
            Order::TimeOutProbe => {
                assert!(seen.probe_out.is_some_and(|since| since >= times.probe_timeout), "a probe has its whole time");
            }
            Order::Preserve(_) => self.fell_silent(),
            Order::StartGrace => assert_eq!(seen.healthy, Some(0), "the grace begins with a healthy probe"),
            Order::Replace(basis) => {
                seen.replacements += 1;
                assert!(seen.replacements <= self.max_replacements, "never more than 1 + max_replacements attempts");
                assert!(!seen.is_untouchable, "neither where the mode forbids it nor after a commit or a verdict");
                if basis == ReplacementBasis::HealthySideCallAndNoActivityThroughGrace {
                    self.assert_silent_through_the_grace();
                }
                self.forget();
            }
            Order::End(end, why) => {
                match end {
                    StreamEnd::Silent if seen.has_verdict => {
                        let (times, seen) = (self.times, &self.seen);
                        assert!(seen.since_sign >= times.idle || seen.since_content >= times.keep_alive_idle);
                    }
                    StreamEnd::Silent if !self.has_probe => {
                        assert!(seen.since_content >= self.times.keep_alive_idle, "it is waited for that long");
                    }
                    StreamEnd::Silent => self.assert_silent_through_the_grace(),
                    StreamEnd::Unreachable => assert_eq!(seen.in_a_row, 3, "three in a row, and only then"),
                    _ => {}
                }
                let is_spent = self.seen.replacements == self.max_replacements;
                assert!(why != NotReplaced::Spent || is_spent, "nothing is withheld");
                self.seen.has_ended = true;
                self.forget();
            }
        }
    }

    fn fell_silent(&mut self) {
        if self.seen.silent_of.is_none() {
            let lacks_everything = self.seen.since_sign >= self.times.idle;
            let lacks_content = self.seen.since_content >= self.times.keep_alive_idle;
            assert!(lacks_everything || lacks_content, "a stream is not silent before its time");
            self.seen.silent_of = Some(if lacks_everything { Sign::KeepAlive } else { Sign::Content });
        }
    }

    fn assert_silent_through_the_grace(&self) {
        let (times, seen) = (self.times, &self.seen);
        assert!(seen.healthy.is_some_and(|since| since >= times.grace), "a healthy probe and a whole grace come first");
        match seen.silent_of.expect("it is silent") {
            Sign::KeepAlive => assert!(seen.since_sign >= times.idle + times.grace),
            Sign::Content => assert!(seen.since_content >= times.keep_alive_idle + times.grace),
        }
    }

    /// A sign of life, what was ordered at it, and whether the stream counts as silent after it.
    pub(super) fn sign(&mut self, sign: Sign, order: Option<Order>, is_silent: bool) {
        self.seen.since_sign = 0;
        if sign == Sign::Content {
            self.seen.since_content = 0;
        }
        if sign == Sign::KeepAlive && self.seen.silent_of == Some(Sign::Content) {
            assert!(order.is_none() && is_silent, "keep-alives never end a silence of content");
            return;
        }
        self.ends_silence(order, is_silent);
    }

    fn ends_silence(&mut self, order: Option<Order>, is_silent: bool) {
        let cancels = self.seen.probe_out.map(|_| Order::CancelProbe);
        assert_eq!(order, cancels, "a probe that is out is cancelled, and nothing else is done");
        assert!(!is_silent, "a sign of life leads back");
        order.into_iter().for_each(|order| self.ordered(order));
        self.forget();
    }

    /// What became of the probe that is out, or a late answer of one that is not.
    pub(super) fn probed(&mut self, probed: Probed, order: Option<Order>) {
        let seen = &mut self.seen;
        if seen.probe_out.take().is_none() {
            return assert_eq!(order, None, "a late answer changes nothing");
        }
        match probed {
            Probed::Healthy => (seen.healthy, seen.in_a_row) = (Some(0), 0),
            Probed::Unanswered => seen.in_a_row += 1,
        }
        let unreachable = matches!(order, Some(Order::End(StreamEnd::Unreachable, _)));
        assert_eq!(unreachable, seen.in_a_row == 3, "three in a row, and only then");
        order.into_iter().for_each(|order| self.ordered(order));
    }

    pub(super) fn committed(&mut self) {
        self.seen.is_untouchable = true;
    }

    /// A verdict of the other side, and what was ordered at it.
    pub(super) fn settled(&mut self, order: Option<Order>, is_silent: bool) {
        self.ends_silence(order, is_silent);
        (self.seen.is_untouchable, self.seen.has_verdict) = (true, true);
    }

    pub(super) fn started(&mut self) {
        (self.seen.since_sign, self.seen.since_content) = (0, 0);
    }

    fn forget(&mut self) {
        let seen = &mut self.seen;
        (seen.silent_of, seen.last_round, seen.probe_out, seen.healthy, seen.in_a_row) = (None, 0, None, None, 0);
    }
}
