//! What one route is to do.

use std::time::Duration;

use super::{StreamPolicy, seconds};
use crate::{CallTiming, InvalidSetting, LinearBackoff, ReadMethods};

/// What one route is to do: its attempts and times, its pauses, its reads and its streams. See the [module documentation](super).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(try_from = "super::record::RouteRecord", into = "super::record::RouteRecord")
)]
pub struct RoutePolicy {
    timing: CallTiming,
    backoff: LinearBackoff,
    reads: ReadMethods,
    stream: StreamPolicy,
}

impl RoutePolicy {
    /// Starts from the defaults of the layers: [`CallTiming`], [`LinearBackoff`], no method that only reads, streams left alone.
    pub fn builder() -> RoutePolicyBuilder {
        RoutePolicyBuilder::default()
    }

    /// How many attempts and how much time a call has.
    #[must_use]
    pub fn timing(&self) -> CallTiming {
        self.timing
    }

    /// How long repeats wait.
    #[must_use]
    pub fn backoff(&self) -> LinearBackoff {
        self.backoff
    }

    /// Which methods only read.
    #[must_use]
    pub fn reads(&self) -> &ReadMethods {
        &self.reads
    }

    /// What becomes of a stream. Without a record of its own it is [`Disabled`](super::StreamMode::Disabled).
    #[must_use]
    pub fn stream(&self) -> StreamPolicy {
        self.stream
    }
}

/// Sets the parts of a [`RoutePolicy`], which [`build`](Self::build) checks against each other.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing before `build`"]
pub struct RoutePolicyBuilder {
    attempts: Option<u32>,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    backoff: LinearBackoff,
    reads: ReadMethods,
    stream: StreamPolicy,
}

impl RoutePolicyBuilder {
    /// The most attempts that one call may spend, the first included. At least 1; default: that of [`CallTiming`].
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// How long the call as a whole may take. Default: no bound.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long one attempt may take. Shorter than the deadline; default: that of [`CallTiming`].
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = Some(limit);
        self
    }

    /// How long repeats wait. The ceiling is not below the step; default: that of [`LinearBackoff`].
    pub fn backoff(mut self, backoff: LinearBackoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Which methods only read. Default: none.
    pub fn reads(mut self, reads: ReadMethods) -> Self {
        self.reads = reads;
        self
    }

    /// What becomes of a stream. Default: it is left alone.
    pub fn stream(mut self, stream: StreamPolicy) -> Self {
        self.stream = stream;
        self
    }

    /// # Errors
    ///
    /// [`InvalidSetting`] names the field, its value and the bound that it breaks.
    pub fn build(self) -> Result<RoutePolicy, InvalidSetting> {
        Ok(RoutePolicy {
            timing: self.timing()?,
            backoff: checked(self.backoff)?,
            reads: self.reads,
            stream: self.stream,
        })
    }

    fn timing(&self) -> Result<CallTiming, InvalidSetting> {
        let mut timing = CallTiming::builder();
        if let Some(attempts) = self.attempts {
            timing = timing.attempts(attempts);
        }
        if let Some(deadline) = self.deadline {
            timing = timing.deadline(seconds::check("deadline_seconds", deadline)?);
        }
        if let Some(limit) = self.attempt_timeout {
            timing = timing.attempt_timeout(seconds::check("attempt_timeout_seconds", limit)?);
        }
        timing.build().map_err(named_as_in_a_file)
    }
}

/// What breaks a bound is looked for where it was written.
fn named_as_in_a_file(mut refused: InvalidSetting) -> InvalidSetting {
    refused.field = match refused.field {
        "deadline" => "deadline_seconds",
        "attempt_timeout" => "attempt_timeout_seconds",
        other => other,
    };
    refused
}

fn checked(backoff: LinearBackoff) -> Result<LinearBackoff, InvalidSetting> {
    let step = seconds::check("backoff.step_seconds", backoff.step())?;
    let ceiling = seconds::check("backoff.ceiling_seconds", backoff.ceiling())?;
    if ceiling < step {
        // A step that no pause can ever have is a mistake, and often a ceiling that was forgotten.
        let bound = format!("at least the step_seconds of {}", step.as_secs_f64());
        return Err(InvalidSetting::new("backoff.ceiling_seconds", ceiling.as_secs_f64(), bound));
    }
    Ok(backoff)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const NANOSECOND: Duration = Duration::from_nanos(1);
    const WEEK: Duration = seconds::LONGEST;

    fn refused(builder: RoutePolicyBuilder) -> String {
        builder.build().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_those_of_the_layers() {
        let policy = RoutePolicy::builder().build().unwrap();
        assert_eq!(policy, RoutePolicy::default());
        assert_eq!(policy.timing(), CallTiming::default());
        assert_eq!(policy.backoff(), LinearBackoff::default());
        assert_eq!(policy.reads(), &ReadMethods::new());
        assert_eq!(policy.stream(), StreamPolicy::default());
    }

    #[test]
    fn what_is_set_is_what_is_read() {
        let (backoff, reads) = (LinearBackoff::new(SECOND, 2 * SECOND), ReadMethods::new().read("list"));
        let stream = StreamPolicy::builder(crate::StreamMode::Preserve).build().unwrap();
        let policy = RoutePolicy::builder()
            .attempts(2)
            .deadline(9 * SECOND)
            .attempt_timeout(4 * SECOND)
            .backoff(backoff)
            .reads(reads.clone())
            .stream(stream)
            .build()
            .unwrap();
        let timing =
            CallTiming::builder().attempts(2).deadline(9 * SECOND).attempt_timeout(4 * SECOND).build().unwrap();
        assert_eq!((policy.timing(), policy.backoff()), (timing, backoff));
        assert_eq!((policy.reads(), policy.stream()), (&reads, stream));
    }

    #[test]
    fn the_times_of_a_call_have_bounds() {
        let builder = RoutePolicy::builder;
        for refused in [
            refused(builder().deadline(Duration::ZERO)),
            refused(builder().deadline(WEEK + NANOSECOND)),
            refused(builder().attempt_timeout(Duration::ZERO)),
            refused(builder().attempt_timeout(WEEK + NANOSECOND)),
        ] {
            assert!(refused.contains("_seconds is ") && refused.ends_with("above 0 and at most 604800"), "{refused}");
        }
        builder().attempts(u32::MAX).deadline(WEEK).attempt_timeout(WEEK - NANOSECOND).build().unwrap();
        builder().attempts(1).attempt_timeout(NANOSECOND).build().unwrap();
    }

    #[test]
    fn the_times_of_a_call_are_checked_against_each_other_and_named_as_in_a_file() {
        let builder = RoutePolicy::builder;
        assert_eq!(refused(builder().attempts(0)), "attempts is 0, but it must be at least 1");
        assert_eq!(
            refused(builder().deadline(SECOND).attempt_timeout(SECOND)),
            "attempt_timeout_seconds is 1s, but it must be shorter than the deadline of 1s"
        );
        assert_eq!(
            refused(builder().attempts(4).deadline(3 * NANOSECOND)),
            "deadline_seconds is 3ns, but it must be long enough to be divided by 4 attempts"
        );
        builder().attempts(4).deadline(4 * NANOSECOND).build().unwrap();
    }

    #[test]
    fn pauses_have_bounds_and_the_ceiling_is_not_below_the_step() {
        let with = |step, ceiling| RoutePolicy::builder().backoff(LinearBackoff::new(step, ceiling));
        for (step, ceiling, message) in [
            (Duration::ZERO, SECOND, "backoff.step_seconds is 0, but it must be above 0 and at most 604800"),
            (SECOND, Duration::ZERO, "backoff.ceiling_seconds is 0, but it must be above 0 and at most 604800"),
            (2 * WEEK, WEEK, "backoff.step_seconds is 1209600, but it must be above 0 and at most 604800"),
            (WEEK, 2 * WEEK, "backoff.ceiling_seconds is 1209600, but it must be above 0 and at most 604800"),
            (SECOND, SECOND / 2, "backoff.ceiling_seconds is 0.5, but it must be at least the step_seconds of 1"),
        ] {
            assert_eq!(refused(with(step, ceiling)), message);
        }
        with(NANOSECOND, NANOSECOND).build().unwrap();
        with(WEEK, WEEK).build().unwrap();
    }
}
