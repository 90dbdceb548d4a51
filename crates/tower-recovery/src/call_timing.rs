//! How many attempts and how much time a call has, checked against each other.

use std::{num::NonZeroU32, time::Duration};

use crate::InvalidSetting;

/// How many attempts and how much time a call has.
///
/// A deadline ends a call from above, where nothing is learnt about the handle; only an attempt's own timeout indicts it. So an
/// attempt must end before the deadline does: with a 10 s deadline over a 30 s attempt, a frozen handle would stay for ever.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tower_recovery::CallTiming;
///
/// let timing = CallTiming::builder().deadline(Duration::from_secs(9)).build()?;
/// assert_eq!(timing.attempt_timeout(), Duration::from_secs(3), "the deadline, divided by three attempts");
///
/// let refused = CallTiming::builder()
///     .deadline(Duration::from_secs(10))
///     .attempt_timeout(Duration::from_secs(30))
///     .build()
///     .unwrap_err();
/// assert_eq!(refused.to_string(), "attempt_timeout is 30s, but it must be shorter than the deadline of 10s");
/// # Ok::<(), tower_recovery::InvalidSetting>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTiming {
    attempts: NonZeroU32,
    deadline: Option<Duration>,
    attempt_timeout: Duration,
}

impl CallTiming {
    const DEFAULT_ATTEMPTS: NonZeroU32 = NonZeroU32::new(3).expect("three is not zero");
    const DEFAULT_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

    /// Starts from the defaults: three attempts of 30 s each, no deadline.
    pub fn builder() -> CallTimingBuilder {
        CallTimingBuilder { attempts: Self::DEFAULT_ATTEMPTS.get(), deadline: None, attempt_timeout: None }
    }

    /// The most attempts that one call may spend, the first included.
    #[must_use]
    pub fn attempts(self) -> u32 {
        self.attempts.get()
    }

    /// How long the call as a whole may take, if that is bounded.
    #[must_use]
    pub fn deadline(self) -> Option<Duration> {
        self.deadline
    }

    /// How long one attempt may take: what [`AttemptTimeoutLayer`](crate::AttemptTimeoutLayer) is to be given.
    #[must_use]
    pub fn attempt_timeout(self) -> Duration {
        self.attempt_timeout
    }
}

/// Three attempts of 30 s each, no deadline.
impl Default for CallTiming {
    fn default() -> Self {
        Self { attempts: Self::DEFAULT_ATTEMPTS, deadline: None, attempt_timeout: Self::DEFAULT_ATTEMPT_TIMEOUT }
    }
}

/// Sets the parts of a [`CallTiming`], which [`build`](Self::build) checks against each other.
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct CallTimingBuilder {
    attempts: u32,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
}

impl CallTimingBuilder {
    /// The most attempts that one call may spend, the first included. At least 1; default 3.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// How long the call as a whole may take. Above zero; default: no bound.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long one attempt may take. Above zero and shorter than the deadline; default: the deadline divided by the
    /// attempts, or 30 s without one.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = Some(limit);
        self
    }

    /// # Errors
    ///
    /// [`InvalidSetting`] names the field, its value and the bound that it breaks.
    pub fn build(self) -> Result<CallTiming, InvalidSetting> {
        let attempts = NonZeroU32::new(self.attempts)
            .ok_or_else(|| InvalidSetting::new("attempts", self.attempts, "at least 1"))?;
        above_zero("deadline", self.deadline)?;
        above_zero("attempt_timeout", self.attempt_timeout)?;
        let attempt_timeout = match (self.deadline, self.attempt_timeout) {
            (Some(deadline), Some(limit)) if limit >= deadline => {
                let bound = format!("shorter than the deadline of {deadline:?}");
                return Err(InvalidSetting::new("attempt_timeout", format_args!("{limit:?}"), bound));
            }
            (_, Some(limit)) => limit,
            // One attempt has the whole deadline to itself but for the part in which its end is noticed.
            (Some(deadline), None) if attempts.get() == 1 => deadline.mul_f64(0.9),
            (Some(deadline), None) => deadline / attempts.get(),
            (None, None) => CallTiming::DEFAULT_ATTEMPT_TIMEOUT,
        };
        if let Some(deadline) = self.deadline
            && (attempt_timeout.is_zero() || attempt_timeout >= deadline)
        {
            let bound = format!("long enough to be divided by {attempts} attempts");
            return Err(InvalidSetting::new("deadline", format_args!("{deadline:?}"), bound));
        }
        Ok(CallTiming { attempts, deadline: self.deadline, attempt_timeout })
    }
}

fn above_zero(field: &'static str, setting: Option<Duration>) -> Result<(), InvalidSetting> {
    match setting {
        Some(Duration::ZERO) => Err(InvalidSetting::new(field, "0s", "above zero")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn built(
        attempts: u32,
        deadline: Option<Duration>,
        attempt_timeout: Option<Duration>,
    ) -> Result<CallTiming, String> {
        let builder = CallTimingBuilder { attempts, deadline, attempt_timeout };
        builder.build().map_err(|refused| refused.to_string())
    }

    #[test]
    fn the_defaults_are_three_attempts_of_thirty_seconds_without_a_deadline() {
        let timing = CallTiming::builder().build().unwrap();
        assert_eq!(timing, CallTiming::default());
        assert_eq!((timing.attempts(), timing.deadline(), timing.attempt_timeout()), (3, None, 30 * SECOND));
    }

    #[test]
    fn what_is_set_is_what_is_read() {
        let timing =
            CallTiming::builder().attempts(7).deadline(10 * SECOND).attempt_timeout(4 * SECOND).build().unwrap();
        assert_eq!(
            (timing.attempts(), timing.deadline(), timing.attempt_timeout()),
            (7, Some(10 * SECOND), 4 * SECOND)
        );
    }

    #[test]
    fn an_attempt_has_its_share_of_the_deadline_and_a_single_one_nearly_all_of_it() {
        for (attempts, share) in [(1, 9000), (2, 5000), (4, 2500)] {
            let timing = built(attempts, Some(10 * SECOND), None).unwrap();
            assert_eq!(timing.attempt_timeout().as_millis(), share, "of {attempts} attempts");
        }
    }

    #[test]
    fn a_deadline_that_leaves_no_time_for_an_attempt_is_refused() {
        for (attempts, nanos) in [(3, 2), (u32::MAX, 1_000_000_000), (1, 1)] {
            let deadline = Duration::from_nanos(nanos);
            let message =
                format!("deadline is {deadline:?}, but it must be long enough to be divided by {attempts} attempts");
            assert_eq!(built(attempts, Some(deadline), None), Err(message));
        }
        assert!(built(3, Some(Duration::from_nanos(3)), None).is_ok());
    }

    #[test]
    fn an_attempt_must_be_shorter_than_the_deadline() {
        let nearly = SECOND - Duration::from_nanos(1);
        assert_eq!(built(3, Some(SECOND), Some(nearly)).unwrap().attempt_timeout(), nearly);
        for limit in [SECOND, 2 * SECOND] {
            let message = format!("attempt_timeout is {limit:?}, but it must be shorter than the deadline of 1s");
            assert_eq!(built(3, Some(SECOND), Some(limit)), Err(message));
        }
    }

    #[test]
    fn nothing_may_be_zero() {
        let zero = Some(Duration::ZERO);
        assert_eq!(built(0, None, None).unwrap_err(), "attempts is 0, but it must be at least 1");
        assert_eq!(built(1, zero, None).unwrap_err(), "deadline is 0s, but it must be above zero");
        assert_eq!(built(1, None, zero).unwrap_err(), "attempt_timeout is 0s, but it must be above zero");
    }
}
