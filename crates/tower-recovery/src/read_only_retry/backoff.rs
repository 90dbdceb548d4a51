//! How long a repeat waits. Pure: chance is an argument.

use std::time::Duration;

use crate::clock;

/// Linear backoff with downward jitter: before the n-th repeat between half and the whole of `step × n`, `ceiling` at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearBackoff {
    step: Duration,
    ceiling: Duration,
}

impl LinearBackoff {
    /// Grows by `step` with each repeat, up to `ceiling`.
    #[must_use]
    pub const fn new(step: Duration, ceiling: Duration) -> Self {
        Self { step, ceiling }
    }

    /// By how much each repeat waits longer than the one before.
    #[must_use]
    pub const fn step(self) -> Duration {
        self.step
    }

    /// The longest pause.
    #[must_use]
    pub const fn ceiling(self) -> Duration {
        self.ceiling
    }

    /// The pause before the n-th repeat of a call, from 1; `chance` from 0 to 1 takes up to half of it away.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_recovery::LinearBackoff;
    ///
    /// let backoff = LinearBackoff::new(Duration::from_millis(200), Duration::from_millis(500));
    /// assert_eq!(backoff.pause(1, 0.0), Duration::from_millis(200));
    /// assert_eq!(backoff.pause(1, 1.0), Duration::from_millis(100));
    /// assert_eq!(backoff.pause(9, 0.0), Duration::from_millis(500));
    /// ```
    #[must_use]
    pub fn pause(self, repeat: u32, chance: f64) -> Duration {
        let whole = self.step.saturating_mul(repeat).min(self.ceiling);
        clock::part(whole, 1.0 - chance.max(0.0).clamp(0.0, 1.0) / 2.0)
    }
}

/// 100 ms a repeat, up to 5 s.
impl Default for LinearBackoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(100), Duration::from_secs(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(backoff: LinearBackoff, chance: f64) -> [u128; 4] {
        [1, 2, 3, u32::MAX].map(|repeat| backoff.pause(repeat, chance).as_millis())
    }

    #[test]
    fn a_pause_grows_by_a_step_a_repeat_up_to_the_ceiling_and_chance_takes_up_to_half_of_it() {
        let backoff = LinearBackoff::new(Duration::from_millis(200), Duration::from_millis(500));
        assert_eq!(pauses(backoff, 0.0), [200, 400, 500, 500]);
        assert_eq!(pauses(backoff, 0.5), [150, 300, 375, 375]);
        assert_eq!(pauses(backoff, 1.0), [100, 200, 250, 250]);
        assert_eq!(pauses(backoff, -7.0), pauses(backoff, 0.0), "chance is cut to its range");
        assert_eq!(pauses(backoff, 7.0), pauses(backoff, 1.0));
        assert_eq!(pauses(backoff, f64::NAN), pauses(backoff, 0.0));
    }

    #[test]
    fn the_default_is_a_tenth_of_a_second_a_repeat_up_to_five_seconds() {
        assert_eq!(pauses(LinearBackoff::default(), 0.0), [100, 200, 300, 5000]);
    }
}
