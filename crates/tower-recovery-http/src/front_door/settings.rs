//! What a front door is told.

use std::{fmt, sync::Arc, time::Duration};

use tower_recovery::{
    CallTiming, CallTimingBuilder, InvalidSetting, LinearBackoff, Observer, RetryBudget, StreamMode, StreamPolicy,
};

use crate::{AnswerRule, HttpClassifier, Intermediary, ReadRoutes, Transport, body_end::Trust, rules::RepeatPolicy};

/// Builds the recommended stack for HTTP. Made by [`Recovery::http`](super::HttpFrontDoor::http).
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct HttpRecovery<Resolver, Target> {
    pub(super) resolver: Resolver,
    pub(super) target: Target,
    pub(super) name: Arc<str>,
    reads: ReadRoutes,
    trusts_keys: bool,
    pub(super) classifier: HttpClassifier,
    timing: CallTimingBuilder,
    /// Whether the time of a call or an attempt was said, and not left to the default.
    is_timed: bool,
    pub(super) backoff: LinearBackoff,
    pub(super) budget: Option<Arc<dyn RetryBudget>>,
    pub(super) observer: Option<Arc<dyn Observer>>,
    resolve_timeout: Option<Duration>,
    pub(super) resolve_floor: Option<(Duration, Duration)>,
    pub(super) refresh_every: Option<Duration>,
    suspect_after: Option<Duration>,
    transport: Transport,
    pub(crate) body_limit: usize,
    pub(super) trust: Trust,
}

impl<Resolver, Target> HttpRecovery<Resolver, Target> {
    const DEFAULT_BODY_LIMIT: usize = 16 << 20;
    const DEFAULT_RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
    const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    pub(super) fn new(resolver: Resolver, target: Target) -> Self {
        Self {
            resolver,
            target,
            name: Arc::from("origin"),
            reads: ReadRoutes::safe(),
            trusts_keys: false,
            classifier: HttpClassifier::new(),
            timing: CallTiming::builder(),
            is_timed: false,
            backoff: LinearBackoff::default(),
            budget: None,
            observer: None,
            resolve_timeout: None,
            resolve_floor: None,
            refresh_every: None,
            suspect_after: None,
            transport: Transport::new(),
            body_limit: Self::DEFAULT_BODY_LIMIT,
            trust: Trust::default(),
        }
    }

    /// What events and the log call the route and its handle: `Re-resolved the <name>.` Default: `origin`.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Which requests only read. Default: [`ReadRoutes::safe`].
    pub fn reads(mut self, reads: ReadRoutes) -> Self {
        self.reads = reads;
        self
    }

    /// The most attempts that one call may spend, the first included. Default: 3.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.timing = self.timing.attempts(attempts);
        self
    }

    /// How long a call may take, all its attempts and pauses together. Default: no bound.
    ///
    /// Of a call whose answer is a stream that is replaced it bounds each attempt, up to its head: see [there](crate::streams#time).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.timing = self.timing.deadline(deadline);
        self.is_timed = true;
        self
    }

    /// How long one attempt may take, its body included; of a [stream](crate::streams#time) up to its head, and with another default. Default: the deadline divided by
    /// the attempts, or 30 s.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.timing = self.timing.attempt_timeout(limit);
        self.is_timed = true;
        self
    }

    /// The time of an attempt under such a policy, if none was said: where streams are replaced, as long as it takes to tell a silence and to probe it three times, so that this is
    /// the bound of what nobody else bounds.
    pub(crate) fn timed_by(mut self, policy: StreamPolicy) -> Self {
        const AS_GOOD_AS_NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let limit = match policy.mode() {
            StreamMode::RetryOnHealthyProbe => Some(longest_silence(policy)),
            StreamMode::Preserve => Some(AS_GOOD_AS_NEVER),
            _ => None,
        };
        if let Some(limit) = limit.filter(|_| !self.is_timed) {
            self.timing = self.timing.attempt_timeout(limit);
        }
        self
    }

    /// How long repeats wait.
    pub fn backoff(mut self, backoff: LinearBackoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Who sells the permits for repeats; to share one with other stacks, give each a clone of an `Arc` of it. Default: a
    /// [`ShareBudget`](tower_recovery::ShareBudget) of this stack's own.
    pub fn budget(mut self, budget: impl RetryBudget + 'static) -> Self {
        self.budget = Some(Arc::new(budget));
        self
    }

    /// Who sees the events of the stack.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// How long one resolve may take. Default: as long as an attempt, 10 s at the most.
    pub fn resolve_timeout(mut self, limit: Duration) -> Self {
        self.resolve_timeout = Some(limit);
        self
    }

    /// The pause between an answer of the resolver and the next resolve: how much it grows with each resolve in a row that did not help, and the longest. See
    /// [`HandleCacheBuilder::resolve_floor`](tower_recovery::HandleCacheBuilder::resolve_floor). Default: 100 ms, up to 5 s.
    pub fn resolve_floor(mut self, step: Duration, ceiling: Duration) -> Self {
        self.resolve_floor = Some((step, ceiling));
        self
    }

    /// Asks the resolver from time to time although nothing fails, and goes on with whom it names then. See
    /// [`HandleCacheBuilder::refresh_every`](tower_recovery::HandleCacheBuilder::refresh_every). Default: never.
    pub fn refresh_every(mut self, period: Duration) -> Self {
        self.refresh_every = Some(period);
        self
    }

    /// How long a read waits for its answer before the resolver is asked whether it still names the same origin; if not, the read is given up there and repeated on the new one. Shorter than
    /// an attempt; writes wait on. See [`HandleCacheBuilder::suspect_after`](tower_recovery::HandleCacheBuilder::suspect_after). Default: never.
    ///
    /// Of [streams](crate::streams) that are replaced it holds for their probes alone.
    pub fn suspect_after(mut self, wait: Duration) -> Self {
        self.suspect_after = Some(wait);
        self
    }

    /// How origins are reached: protocol, TLS, time for making a connection. Default: HTTP/1.1 over cleartext, and half an attempt for the
    /// connection, 5 s at the most.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Whether a proxy or gateway stands between this client and the servers. Default: none does.
    pub fn behind(mut self, intermediary: Intermediary) -> Self {
        self.classifier = self.classifier.behind(intermediary);
        self
    }

    /// Which answers say that their request was not processed. See [`HttpClassifier::refused_if`].
    pub fn refused_if(mut self, rule: AnswerRule) -> Self {
        self.classifier = self.classifier.refused_if(rule);
        self
    }

    /// Which answers say that the next request had better go elsewhere. See [`HttpClassifier::stale_if`].
    pub fn stale_if(mut self, rule: AnswerRule) -> Self {
        self.classifier = self.classifier.stale_if(rule);
        self
    }

    /// Repeats writes that carry an `Idempotency-Key`. See [`HttpRules::trust_idempotency_keys`](crate::HttpRules::trust_idempotency_keys).
    pub fn trust_idempotency_keys(mut self) -> Self {
        self.trusts_keys = true;
        self
    }

    /// The longest body, in bytes, that the stack for unary calls collects. Default: 16 MiB.
    pub fn body_limit(mut self, limit: usize) -> Self {
        self.body_limit = limit;
        self
    }

    /// In the stacks for bodies that outlive the call: a body of HTTP/1 that is delimited by the end of its connection alone is whole when that ends in order.
    /// See [`StreamedLayer::trust_close_delimited`](crate::StreamedLayer::trust_close_delimited). Default: it is an error.
    pub fn trust_close_delimited(self) -> Self {
        self.trusting(Trust::CloseDelimited)
    }

    /// Takes nothing back.
    pub(crate) fn trusting(mut self, trust: Trust) -> Self {
        self.trust = self.trust.max(trust);
        self
    }

    pub(crate) fn policy(&self) -> RepeatPolicy {
        let mut policy = RepeatPolicy::new(self.reads.clone());
        if self.trusts_keys {
            policy.trust_idempotency_keys();
        }
        policy
    }

    /// The timing of a call, checked, as is what it stands beside.
    pub(crate) fn timing(&self) -> Result<CallTiming, InvalidSetting> {
        if self.resolve_floor.is_some_and(|(step, _)| step.is_zero()) {
            return Err(InvalidSetting::new("resolve_floor", "0s", "above zero, or nothing keeps resolves apart"));
        }
        self.timing.build()
    }

    pub(super) fn resolve_timeout_under(&self, timing: CallTiming) -> Duration {
        self.resolve_timeout.unwrap_or_else(|| Self::DEFAULT_RESOLVE_TIMEOUT.min(timing.attempt_timeout()))
    }

    /// After how long a read suspects its handle: while its attempt still runs.
    pub(super) fn suspect_after_under(&self, timing: CallTiming) -> Result<Option<Duration>, InvalidSetting> {
        let attempt = timing.attempt_timeout();
        match self.suspect_after {
            Some(wait) if wait >= attempt => {
                let bound = format!("shorter than the attempt_timeout of {attempt:?}");
                Err(InvalidSetting::new("suspect_after", format_args!("{wait:?}"), bound))
            }
            wait => Ok(wait),
        }
    }

    /// The transport, with a time for making a connection that leaves some of the attempt.
    pub(crate) fn transport_under(&self, timing: CallTiming) -> Result<Transport, InvalidSetting> {
        let attempt = timing.attempt_timeout();
        let limit = match self.transport.explicit_connect_timeout() {
            Some(limit) if limit >= attempt => {
                let bound = format!("shorter than the attempt_timeout of {attempt:?}");
                return Err(InvalidSetting::new("connect_timeout", format_args!("{limit:?}"), bound));
            }
            Some(limit) => limit,
            None => Self::DEFAULT_CONNECT_TIMEOUT.min(attempt / 2),
        };
        Ok(self.transport.clone().connect_timeout(limit))
    }
}

fn longest_silence(policy: StreamPolicy) -> Duration {
    let until_unreachable =
        policy.idle() + policy.probe_interval(1) + policy.probe_interval(2) + 3 * policy.probe_timeout();
    // Above what the layer sees by itself, and not in the same moment: this timeout proves less.
    policy.keep_alive_idle().max(until_unreachable + policy.recovery_grace()) + policy.idle()
}

impl<Resolver, Target> fmt::Debug for HttpRecovery<Resolver, Target> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpRecovery")
            .field("name", &self.name)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(door: HttpRecovery<(), ()>, mode: StreamMode) -> Duration {
        door.timed_by(StreamPolicy::builder(mode).build().unwrap()).timing().unwrap().attempt_timeout()
    }

    #[test]
    fn an_attempt_of_a_stream_has_the_time_of_a_silence_unless_another_was_said() {
        let door = || HttpRecovery::new((), ());
        assert_eq!(attempt(door(), StreamMode::Disabled), Duration::from_secs(30), "as ever");
        assert_eq!(
            attempt(door(), StreamMode::RetryOnHealthyProbe),
            Duration::from_secs(3600 + 900),
            "five times 900 s"
        );
        assert!(attempt(door(), StreamMode::Preserve) > Duration::from_secs(7 * 24 * 60 * 60));
        for mode in [StreamMode::Disabled, StreamMode::Preserve, StreamMode::RetryOnHealthyProbe] {
            assert_eq!(attempt(door().attempt_timeout(Duration::from_secs(7)), mode), Duration::from_secs(7));
            assert_eq!(attempt(door().deadline(Duration::from_secs(9)), mode), Duration::from_secs(3));
        }
    }

    #[test]
    fn a_short_idle_time_leaves_three_probes_their_time() {
        let policy =
            StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).idle(Duration::from_secs(10)).build().unwrap();
        assert_eq!(longest_silence(policy), Duration::from_secs(10 + 300 + 600 + 3 * 60 + 60 + 10));
    }
}
