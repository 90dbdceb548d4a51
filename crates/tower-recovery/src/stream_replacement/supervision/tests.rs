//! Every order of events up to a length, against a model and against the laws, and the orders that have a name.

mod edges;
mod events;
mod laws;
mod model;
mod orders;
mod scenarios;
mod world;

use super::*;
use crate::StreamPolicyBuilder;

/// The times of a policy, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    idle: i64,
    keep_alive_idle: i64,
    probe_timeout: i64,
    probe_interval: i64,
    grace: i64,
}

impl Times {
    /// A probe has had its time long before the next one is due.
    const SHORT_PROBES: Self =
        Self { idle: 4000, keep_alive_idle: 10_000, probe_timeout: 2000, probe_interval: 3000, grace: 5000 };
    /// The next probe is overdue when the one before has had its time, and the two silences are hardly apart.
    const LONG_PROBES: Self =
        Self { idle: 3000, keep_alive_idle: 3500, probe_timeout: 7000, probe_interval: 2000, grace: 1000 };

    fn policy(self, mode: StreamMode, max_replacements: u32) -> StreamPolicy {
        StreamPolicy::builder(mode)
            .idle(milliseconds(self.idle))
            .keep_alive_idle(milliseconds(self.keep_alive_idle))
            .probe_timeout(milliseconds(self.probe_timeout))
            .probe_interval(milliseconds(self.probe_interval))
            .recovery_grace(milliseconds(self.grace))
            .max_replacements(max_replacements)
            .build()
            .expect("the times are within their bounds")
    }
}

fn milliseconds(count: i64) -> Duration {
    Duration::from_millis(count.unsigned_abs())
}

/// One stream of the default policy with a probe, in seconds since it was called.
#[derive(Clone)]
struct Stream {
    machine: Supervision,
    called: Instant,
    now: Instant,
}

impl Stream {
    fn new(mode: StreamMode, max_replacements: u32) -> Self {
        Self::of(StreamPolicy::builder(mode).max_replacements(max_replacements), true)
    }

    fn of(policy: StreamPolicyBuilder, has_probe: bool) -> Self {
        let now = Instant::now();
        let policy = policy.build().expect("the policy is within its bounds");
        let mut machine = Supervision::new(policy, has_probe, now);
        machine.started(now);
        Self { machine, called: now, now }
    }

    /// What is due at exactly this second, and nothing just before.
    fn due_at(&mut self, second: u64) -> Option<Order> {
        let moment = self.called + Duration::from_secs(second);
        assert_eq!(self.machine.deadline(), Some(moment), "{:?} later", moment - self.called);
        assert_eq!(self.machine.due(moment - Duration::from_nanos(1)), None, "just before");
        self.now = moment;
        self.due()
    }

    fn due(&mut self) -> Option<Order> {
        self.machine.due(self.now)
    }

    /// Lets time pass up to this second.
    fn at(&mut self, second: u64) -> &mut Self {
        self.now = self.called + Duration::from_secs(second);
        self
    }

    fn is_silent(&self) -> bool {
        self.machine.silence().is_some()
    }

    fn sign(&mut self, sign: Sign) -> Option<Order> {
        self.machine.sign(sign, self.now)
    }

    fn probed(&mut self, probed: Probed) -> Option<Order> {
        self.machine.probed(probed, self.now)
    }

    fn dropped(&mut self) -> Order {
        self.machine.failed(Verdict::maybe_sent(), false)
    }

    /// The replacement starts after its pause.
    fn replaced(&mut self) {
        self.now += self.machine.replaced(0.0);
        self.machine.started(self.now);
    }
}

const fn probe(round: u32) -> Option<Order> {
    Some(Order::StartProbe { round })
}

const FOR_SILENCE: Order = Order::Replace(ReplacementBasis::HealthySideCallAndNoActivityThroughGrace);
const FOR_A_FAILURE: Order = Order::Replace(ReplacementBasis::RetryableTransportFailure);
