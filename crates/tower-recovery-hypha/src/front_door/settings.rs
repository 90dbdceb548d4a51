//! What the front door is told.

use std::{fmt, sync::Arc, time::Duration};

use tower_recovery::{
    CallTiming, CallTimingBuilder, InvalidSetting, LinearBackoff, Observer, ReadMethods, RegistrationMonitor,
    RetryBudget,
};

use crate::{HyphaClient, HyphaRules, ServiceQuery, artifact_manager};

/// Builds the recommended stack for calls of a Hypha service. Made by [`Recovery::hypha`](super::HyphaFrontDoor::hypha).
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use tower::{Service, ServiceExt};
/// use tower_recovery::Recovery;
/// use tower_recovery_hypha::{Call, HyphaClient, HyphaFrontDoor, ServiceId};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let client = HyphaClient::builder("https://hypha.example").token("a token").connect().await?;
/// let id: ServiceId = "public/artifact-manager".parse()?;
/// let mut artifacts =
///     Recovery::hypha(&client, id).artifact_manager().suspect_after(Duration::from_secs(2)).build()?;
///
/// let artifact = artifacts.ready().await?.call(Call::new("read").arg("public/my-artifact")).await?;
/// println!("{artifact}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct HyphaRecovery {
    pub(super) client: HyphaClient,
    pub(super) query: ServiceQuery,
    pub(super) name: Arc<str>,
    pub(super) rules: HyphaRules,
    timing: CallTimingBuilder,
    /// Whether the time of a call or an attempt was said, and not left to the default.
    is_timed: bool,
    pub(super) backoff: LinearBackoff,
    pub(super) budget: Option<Arc<dyn RetryBudget>>,
    pub(super) observer: Option<Arc<dyn Observer>>,
    resolve_timeout: Option<Duration>,
    pub(super) resolve_floor: Option<(Duration, Duration)>,
    pub(super) refresh_every: Option<Duration>,
    pub(super) suspect_after: Option<Duration>,
    pub(super) ping_timeout: Option<Duration>,
    pub(super) monitor: Option<RegistrationMonitor>,
}

impl HyphaRecovery {
    const DEFAULT_RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
    /// As long as the callee sends heartbeats, a call goes on; this is the end of one that does so for ever.
    const LONGEST_ATTEMPT: Duration = Duration::from_secs(60 * 60);

    pub(super) fn new(client: HyphaClient, query: ServiceQuery) -> Self {
        Self {
            client,
            query,
            name: Arc::from("service proxy"),
            rules: HyphaRules::default(),
            timing: CallTiming::builder(),
            is_timed: false,
            backoff: LinearBackoff::default(),
            budget: None,
            observer: None,
            resolve_timeout: None,
            resolve_floor: None,
            refresh_every: None,
            suspect_after: None,
            ping_timeout: None,
            monitor: None,
        }
    }

    /// What events and the log call the handle: `Re-resolved the <name>.` Default: `service proxy`.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Which methods only read. Default: none.
    pub fn reads(mut self, reads: ReadMethods) -> Self {
        self.rules = HyphaRules::new(reads);
        self
    }

    /// The same, with the places that `silent` has among the parameters.
    pub fn rules(mut self, rules: HyphaRules) -> Self {
        self.rules = rules;
        self
    }

    /// The [rules](artifact_manager::rules) and the name of Hypha's artifact manager.
    pub fn artifact_manager(self) -> Self {
        self.rules(artifact_manager::rules()).named(artifact_manager::NAME)
    }

    /// The most attempts that one call may spend, the first included. Default: 3.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.timing = self.timing.attempts(attempts);
        self
    }

    /// How long a call may take, all its attempts and pauses together. Default: no bound.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.timing = self.timing.deadline(deadline);
        self.is_timed = true;
        self
    }

    /// How long one attempt may take, however often the callee says that it still works. Default: the deadline divided by the attempts, or one hour: a callee that says nothing is given up by the
    /// client's [`answer_timeout`](crate::HyphaClientBuilder::answer_timeout) long before.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.timing = self.timing.attempt_timeout(limit);
        self.is_timed = true;
        self
    }

    /// How long repeats wait.
    pub fn backoff(mut self, backoff: LinearBackoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Who sells the permits for repeats; to share one with other stacks, give each a clone of an `Arc` of it. Default: a [`ShareBudget`](tower_recovery::ShareBudget) of this stack's own.
    ///
    /// After a restart of its server Hypha remembers nobody: until a callee is back, it swallows what is sent to it, and a read may need one repeat for the lost connection, which is swallowed, and one more. Where more
    /// reads are in flight than the budget has in reserve, some of them end by it then.
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

    /// The pause between an answer of the registry and the next resolve, see [`HandleCacheBuilder::resolve_floor`](tower_recovery::HandleCacheBuilder::resolve_floor). Default: 100 ms, up to 5 s.
    pub fn resolve_floor(mut self, step: Duration, ceiling: Duration) -> Self {
        self.resolve_floor = Some((step, ceiling));
        self
    }

    /// Asks the registry from time to time although nothing fails, see [`HandleCacheBuilder::refresh_every`](tower_recovery::HandleCacheBuilder::refresh_every). Default: never.
    pub fn refresh_every(mut self, period: Duration) -> Self {
        self.refresh_every = Some(period);
        self
    }

    /// How long a read waits for its answer before the registry is asked whether it still names the same client, see
    /// [`HandleCacheBuilder::suspect_after`](tower_recovery::HandleCacheBuilder::suspect_after). If it names others beside it, they are pinged. Shorter than an attempt; writes wait on. Default: never.
    pub fn suspect_after(mut self, wait: Duration) -> Self {
        self.suspect_after = Some(wait);
        self
    }

    /// How long a client has to answer a ping, where one of several must be chosen, see [`HyphaResolver::ping_timeout`](crate::HyphaResolver::ping_timeout). Above zero, and at most a quarter of a resolve; default: 2 s, or that quarter if it is shorter.
    pub fn ping_timeout(mut self, limit: Duration) -> Self {
        self.ping_timeout = Some(limit);
        self
    }

    /// Who is told when a call learns that the server has forgotten this very client: the probe of its registration.
    pub fn reporting_to(mut self, monitor: RegistrationMonitor) -> Self {
        self.monitor = Some(monitor);
        self
    }

    /// The timing of a call, checked, as is what it stands beside.
    pub(super) fn timing(&self) -> Result<CallTiming, InvalidSetting> {
        let refused =
            |field, value: Duration, bound: String| Err(InvalidSetting::new(field, format_args!("{value:?}"), bound));
        match self.resolve_floor {
            Some((Duration::ZERO, _)) => {
                return refused(
                    "resolve_floor",
                    Duration::ZERO,
                    "above zero, or nothing keeps resolves apart".to_owned(),
                );
            }
            Some((step, ceiling)) if ceiling < step => {
                return refused("resolve_floor.ceiling", ceiling, format!("at least the step of {step:?}"));
            }
            _ => {}
        }
        let timing = if self.is_timed { self.timing } else { self.timing.attempt_timeout(Self::LONGEST_ATTEMPT) };
        let timing = timing.build()?;
        let attempt = timing.attempt_timeout();
        if let Some(wait) = self.suspect_after.filter(|wait| *wait >= attempt) {
            return refused("suspect_after", wait, format!("shorter than the attempt_timeout of {attempt:?}"));
        }
        let resolve = self.resolve_timeout_under(timing);
        if resolve.is_zero() {
            return refused("resolve_timeout", resolve, "above zero".to_owned());
        }
        if let Some(deadline) = timing.deadline().filter(|deadline| resolve > *deadline) {
            return refused("resolve_timeout", resolve, format!("at most the deadline of {deadline:?}"));
        }
        // The one that serves is pinged, then the others, then the last resort; and the registry is asked twice before.
        let longest_ping = resolve / 4;
        if let Some(limit) = self.ping_timeout.filter(|limit| limit.is_zero() || *limit > longest_ping) {
            return refused(
                "ping_timeout",
                limit,
                format!("above zero, and at most a quarter of the resolve_timeout of {resolve:?}"),
            );
        }
        Ok(timing)
    }

    pub(super) fn resolve_timeout_under(&self, timing: CallTiming) -> Duration {
        self.resolve_timeout.unwrap_or_else(|| Self::DEFAULT_RESOLVE_TIMEOUT.min(timing.attempt_timeout()))
    }
}

impl fmt::Debug for HyphaRecovery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HyphaRecovery")
            .field("name", &self.name)
            .field("query", &self.query)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceId;

    fn refused(set: impl FnOnce(HyphaRecovery) -> HyphaRecovery) -> String {
        let client = HyphaClient::builder("http://127.0.0.1:1").build().unwrap();
        let id: ServiceId = "artifact-manager".parse().unwrap();
        set(HyphaRecovery::new(client, id.into())).build().map(|_| ()).unwrap_err().to_string()
    }

    const MILLI: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn what_makes_no_sense_together_is_refused_by_name() {
        for (error, expected) in [
            (
                refused(|door| door.resolve_floor(Duration::ZERO, SECOND)),
                "resolve_floor is 0ns, but it must be above zero, or nothing keeps resolves apart",
            ),
            (
                refused(|door| door.resolve_floor(SECOND, MILLI)),
                "resolve_floor.ceiling is 1ms, but it must be at least the step of 1s",
            ),
            (refused(|door| door.resolve_timeout(Duration::ZERO)), "resolve_timeout is 0ns, but it must be above zero"),
            (
                refused(|door| door.deadline(3 * SECOND).resolve_timeout(4 * SECOND)),
                "resolve_timeout is 4s, but it must be at most the deadline of 3s",
            ),
            (
                refused(|door| door.attempt_timeout(SECOND).suspect_after(SECOND)),
                "suspect_after is 1s, but it must be shorter than the attempt_timeout of 1s",
            ),
            (
                refused(|door| door.ping_timeout(Duration::ZERO)),
                "ping_timeout is 0ns, but it must be above zero, and at most a quarter of the resolve_timeout of 10s",
            ),
            (
                refused(|door| door.ping_timeout(3 * SECOND)),
                "ping_timeout is 3s, but it must be above zero, and at most a quarter of the resolve_timeout of 10s",
            ),
            (
                refused(|door| door.deadline(SECOND).attempt_timeout(SECOND)),
                "attempt_timeout is 1s, but it must be shorter than the deadline of 1s",
            ),
        ] {
            assert_eq!(error, expected);
        }
    }

    #[tokio::test]
    async fn an_attempt_lasts_as_long_as_the_callee_says_that_it_works_unless_a_time_was_said() {
        let client = HyphaClient::builder("http://127.0.0.1:1").build().unwrap();
        let id: ServiceId = "artifact-manager".parse().unwrap();
        let door = HyphaRecovery::new(client, id.into());
        assert_eq!(door.timing().unwrap().attempt_timeout(), Duration::from_secs(3600));
        assert_eq!(door.clone().deadline(9 * SECOND).timing().unwrap().attempt_timeout(), 3 * SECOND);
        assert_eq!(door.attempt_timeout(7 * SECOND).timing().unwrap().attempt_timeout(), 7 * SECOND);
    }
}
