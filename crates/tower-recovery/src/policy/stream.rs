//! What becomes of a stream that breaks or falls silent.

use std::time::Duration;

use super::seconds;
use crate::{InvalidSetting, LinearBackoff};

/// What may be done about a stream that broke or fell silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum StreamMode {
    /// A broken stream is replaced; a silent one is, when a probe of the same route gets an answer and still nothing comes. The other side may
    /// do the work twice, and who sets this declares that it may.
    RetryOnHealthyProbe,
    /// It is watched and probed, and never replaced.
    Preserve,
    /// It is left alone.
    #[default]
    Disabled,
}

/// What is to become of a stream that breaks or falls silent, and after which times.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tower_recovery::{StreamMode, StreamPolicy};
///
/// let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).idle(Duration::from_secs(300)).build()?;
/// assert_eq!(policy.keep_alive_idle(), Duration::from_secs(1200), "four times as long");
/// assert_eq!(policy.probe_interval(3), Duration::from_secs(1200), "300 s, doubled twice");
/// assert_eq!(policy.replacement_pause(2, 0.0), Duration::from_secs(10));
///
/// let refused = StreamPolicy::builder(StreamMode::Preserve).max_replacements(11).build().unwrap_err();
/// assert_eq!(refused.to_string(), "max_replacements is 11, but it must be from 0 to 10");
/// # Ok::<(), tower_recovery::InvalidSetting>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(try_from = "super::record::StreamRecord", into = "super::record::StreamRecord")
)]
pub struct StreamPolicy {
    mode: StreamMode,
    idle: Duration,
    keep_alive_idle: Duration,
    probe_timeout: Duration,
    probe_interval: Duration,
    recovery_grace: Duration,
    max_replacements: u32,
}

impl StreamPolicy {
    const DEFAULT: Self = Self {
        mode: StreamMode::Disabled,
        idle: Duration::from_secs(900),
        keep_alive_idle: Duration::from_secs(Self::KEEP_ALIVE_PER_IDLE as u64 * 900),
        probe_timeout: Duration::from_secs(60),
        probe_interval: Duration::from_secs(300),
        recovery_grace: Duration::from_secs(60),
        max_replacements: 1,
    };
    /// A server at work may send keep-alives for a good while before its next word; after four silences it is taken for stuck.
    const KEEP_ALIVE_PER_IDLE: u32 = 4;
    /// The interval between probes is doubled so many times.
    const MOST_DOUBLINGS: u32 = 4;
    const PAUSE_STEP: Duration = Duration::from_secs(5);
    pub(super) const MOST_REPLACEMENTS: u32 = 10;

    /// Starts from this mode and the default times.
    pub fn builder(mode: StreamMode) -> StreamPolicyBuilder {
        let Self { idle, probe_timeout, probe_interval, recovery_grace, max_replacements, .. } = Self::DEFAULT;
        let keep_alive_idle = None;
        StreamPolicyBuilder {
            mode,
            idle,
            keep_alive_idle,
            probe_timeout,
            probe_interval,
            recovery_grace,
            max_replacements,
        }
    }

    /// What may be done.
    #[must_use]
    pub fn mode(self) -> StreamMode {
        self.mode
    }

    /// After how long without a byte a stream is silent.
    #[must_use]
    pub fn idle(self) -> Duration {
        self.idle
    }

    /// After how long with nothing but keep-alives a stream is silent.
    #[must_use]
    pub fn keep_alive_idle(self) -> Duration {
        self.keep_alive_idle
    }

    /// How long a probe waits for its answer.
    #[must_use]
    pub fn probe_timeout(self) -> Duration {
        self.probe_timeout
    }

    /// How long after a probe of this round, from 1, the next one starts: doubled each round, 16 times as long at the most.
    #[must_use]
    pub fn probe_interval(self, round: u32) -> Duration {
        self.probe_interval.saturating_mul(1 << round.saturating_sub(1).min(Self::MOST_DOUBLINGS))
    }

    /// How long a silent stream is still waited for after a probe got its answer.
    #[must_use]
    pub fn recovery_grace(self) -> Duration {
        self.recovery_grace
    }

    /// How often one call's stream may be replaced, whether it broke or fell silent.
    #[must_use]
    pub fn max_replacements(self) -> u32 {
        self.max_replacements
    }

    /// The pause between the end of this attempt, from 1, and its replacement: 5 s × attempt, the grace at the most; `chance` from 0 to 1 takes
    /// up to half of it away.
    #[must_use]
    pub fn replacement_pause(self, attempt: u32, chance: f64) -> Duration {
        // What is no number takes nothing away.
        LinearBackoff::new(Self::PAUSE_STEP, self.recovery_grace).pause(attempt, chance.max(0.0))
    }
}

/// [`Disabled`](StreamMode::Disabled): what a route without a record of its streams does.
impl Default for StreamPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Sets the parts of a [`StreamPolicy`], which [`build`](Self::build) checks against each other.
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct StreamPolicyBuilder {
    mode: StreamMode,
    idle: Duration,
    keep_alive_idle: Option<Duration>,
    probe_timeout: Duration,
    probe_interval: Duration,
    recovery_grace: Duration,
    max_replacements: u32,
}

impl StreamPolicyBuilder {
    /// After how long without a byte a stream is silent. Default 900 s.
    pub fn idle(mut self, limit: Duration) -> Self {
        self.idle = limit;
        self
    }

    /// After how long with nothing but keep-alives a stream is silent. Longer than `idle`; default: four times as long, seven days at the most.
    ///
    /// Keep-alives prove that the connection and whoever sends them are alive, and nothing about the work: a proxy sends them for a
    /// server that is gone. So they put the end off, and not for ever.
    pub fn keep_alive_idle(mut self, limit: Duration) -> Self {
        self.keep_alive_idle = Some(limit);
        self
    }

    /// How long a probe waits for its answer. Default 60 s.
    pub fn probe_timeout(mut self, limit: Duration) -> Self {
        self.probe_timeout = limit;
        self
    }

    /// How long after the first probe the second one starts. Default 300 s.
    pub fn probe_interval(mut self, interval: Duration) -> Self {
        self.probe_interval = interval;
        self
    }

    /// How long a silent stream is still waited for after a probe got its answer. Default 60 s.
    pub fn recovery_grace(mut self, grace: Duration) -> Self {
        self.recovery_grace = grace;
        self
    }

    /// How often one call's stream may be replaced. From 0 to 10; default 1.
    pub fn max_replacements(mut self, replacements: u32) -> Self {
        self.max_replacements = replacements;
        self
    }

    /// # Errors
    ///
    /// [`InvalidSetting`] names the field, its value and the bound that it breaks.
    pub fn build(self) -> Result<StreamPolicy, InvalidSetting> {
        if self.max_replacements > StreamPolicy::MOST_REPLACEMENTS {
            return Err(replacements_out_of_bounds(self.max_replacements.into()));
        }
        let idle = seconds::check("idle_seconds", self.idle)?;
        Ok(StreamPolicy {
            mode: self.mode,
            idle,
            keep_alive_idle: keep_alive_idle(idle, self.keep_alive_idle)?,
            probe_timeout: seconds::check("probe_timeout_seconds", self.probe_timeout)?,
            probe_interval: seconds::check("probe_interval_seconds", self.probe_interval)?,
            recovery_grace: seconds::check("recovery_grace_seconds", self.recovery_grace)?,
            max_replacements: self.max_replacements,
        })
    }
}

pub(super) fn replacements_out_of_bounds(replacements: i64) -> InvalidSetting {
    let bound = format!("from 0 to {}", StreamPolicy::MOST_REPLACEMENTS);
    InvalidSetting::new("max_replacements", replacements, bound)
}

fn keep_alive_idle(idle: Duration, set: Option<Duration>) -> Result<Duration, InvalidSetting> {
    match set.map(|limit| seconds::check("keep_alive_idle_seconds", limit)).transpose()? {
        Some(limit) if limit > idle => Ok(limit),
        Some(limit) => {
            let bound = format!("above the idle_seconds of {}", idle.as_secs_f64());
            Err(InvalidSetting::new("keep_alive_idle_seconds", limit.as_secs_f64(), bound))
        }
        None if idle < seconds::LONGEST => {
            Ok(idle.saturating_mul(StreamPolicy::KEEP_ALIVE_PER_IDLE).min(seconds::LONGEST))
        }
        None => {
            let bound = format!("below the most that keep_alive_idle_seconds can be, {}", seconds::MOST);
            Err(InvalidSetting::new("idle_seconds", idle.as_secs_f64(), bound))
        }
    }
}

#[cfg(test)]
mod tests;
