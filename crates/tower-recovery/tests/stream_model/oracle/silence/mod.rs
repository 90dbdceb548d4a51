//! Silence, told anew: from the guide, and not from the machine.

mod probing;

use std::time::Duration;

use tower_recovery::StreamMode;

use crate::{protocol::Part, stack::Times, stakes::Stakes};

#[derive(Debug)]
pub(in crate::oracle) struct Watch {
    times: Times,
    mode: StreamMode,
    has_probe: bool,
    /// When the last sign of life came, and when the last one of work.
    quiet: Option<(Duration, Duration)>,
    /// A sign that came since the stream was last waited for: it counts from when it is waited for again.
    untold: Option<Sign>,
    phase: Phase,
    missing: Sign,
    round: u32,
    unanswered: u32,
    probe_is_called: bool,
    must_cancel: bool,
    /// The other side has given its verdict: the rest of it is waited for, and not probed.
    settled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Life,
    Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Probing { since: Duration },
    Resting { until: Option<Duration> },
    Grace { until: Duration },
}

impl Watch {
    pub(in crate::oracle) fn new(times: Times, mode: StreamMode, has_probe: bool) -> Self {
        Self {
            times,
            mode,
            has_probe,
            quiet: None,
            untold: None,
            phase: Phase::Open,
            missing: Sign::Life,
            round: 0,
            unanswered: 0,
            probe_is_called: false,
            must_cancel: false,
            settled: false,
        }
    }

    pub(in crate::oracle) fn starts(&mut self, now: Duration) {
        (self.quiet, self.untold, self.phase) = (Some((now, now)), None, Phase::Open);
    }

    pub(in crate::oracle) fn ends(&mut self) {
        (self.quiet, self.untold, self.phase, self.must_cancel) = (None, None, Phase::Open, false);
    }

    pub(in crate::oracle) fn settles(&mut self) {
        (self.settled, self.phase) = (true, Phase::Open);
    }

    /// Whether its silence means anything.
    pub(in crate::oracle) fn is_timed(&self) -> bool {
        match self.mode {
            StreamMode::RetryOnHealthyProbe => true,
            StreamMode::Preserve => !self.settled,
            _ => false,
        }
    }

    pub(in crate::oracle) fn sign(&mut self, part: Part) {
        let sign = if part == Part::KeepAlive { Sign::Life } else { Sign::Work };
        self.untold = self.untold.max(Some(sign));
    }

    /// The stream is waited for, from now on.
    pub(in crate::oracle) fn waits(&mut self, now: Duration, stakes: &mut Stakes) {
        let quiet = self.quiet.get_or_insert((now, now));
        let Some(sign) = self.untold.take() else { return };
        quiet.0 = now;
        if sign == Sign::Work {
            quiet.1 = now;
        }
        if sign < self.missing && self.phase != Phase::Open {
            stakes.meets("silence: a keep-alive is no content");
        }
        if self.phase == Phase::Open || sign < self.missing {
            return;
        }
        match self.phase {
            Phase::Probing { .. } => {
                self.must_cancel = true;
                stakes.meets("silence: a sign during the probe");
            }
            Phase::Grace { .. } => stakes.meets("silence: a sign in the grace"),
            Phase::Resting { .. } => stakes.meets("silence: a sign between probes"),
            Phase::Open => {}
        }
        self.phase = Phase::Open;
    }

    pub(in crate::oracle) fn next(&self) -> Option<Duration> {
        let (life, work) = self.quiet?;
        match self.phase {
            Phase::Open => Some((life + self.times.idle).min(work + self.times.keep_alive_idle)),
            Phase::Probing { since } => Some(since + self.times.probe_timeout),
            Phase::Resting { until } => until,
            Phase::Grace { until } => Some(until),
        }
    }

    fn is_due(&self, now: Duration) -> bool {
        self.next().is_some_and(|due| now >= due)
    }

    fn begins_a_silence(&mut self, now: Duration, stakes: &mut Stakes) {
        let (life, _) = self.quiet.expect("it is waited for");
        self.missing = if now >= life + self.times.idle { Sign::Life } else { Sign::Work };
        (self.round, self.unanswered) = (0, 0);
        stakes.meets(if self.missing == Sign::Life { "silence: no life" } else { "silence: no work" });
    }

    pub(in crate::oracle) fn must_have_cancelled(&self) -> bool {
        self.must_cancel
    }

    pub(in crate::oracle) fn is_probing(&self) -> bool {
        matches!(self.phase, Phase::Probing { .. }) || self.must_cancel
    }

    pub(in crate::oracle) fn probe_is_alive(&self) -> bool {
        self.probe_is_called
    }

    pub(in crate::oracle) fn phase_name(&self) -> &'static str {
        match self.phase {
            Phase::Open => "open",
            Phase::Probing { .. } => "probing",
            Phase::Resting { .. } => "resting",
            Phase::Grace { .. } => "grace",
        }
    }
}
