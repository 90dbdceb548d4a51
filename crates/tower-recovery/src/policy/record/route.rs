//! The policy of a route as it stands in a file.

use serde::{Deserialize, Serialize};

use super::time::Seconds;
use crate::{
    InvalidSetting, LinearBackoff, ReadMethods,
    policy::{RoutePolicy, StreamPolicy},
};

/// What one route is to do.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename = "RoutePolicy")]
pub(in crate::policy) struct RouteRecord {
    /// The most attempts that one call may spend, the first included.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = u32::MAX)))]
    attempts: i64,
    /// How long the call as a whole may take. Default: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_seconds: Option<Seconds>,
    /// How long one attempt may take. Shorter than the deadline; default: the deadline divided by the attempts, 30 without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_timeout_seconds: Option<Seconds>,
    /// Which methods only read.
    reads: ReadMethods,
    /// How long repeats wait.
    backoff: BackoffRecord,
    /// What becomes of a stream.
    stream: StreamPolicy,
}

/// How long repeats wait: up to the step × the repeat, and no longer than the ceiling.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename = "Backoff")]
struct BackoffRecord {
    /// By how much each repeat waits longer than the one before.
    step_seconds: Seconds,
    /// The longest pause. Not below the step.
    ceiling_seconds: Seconds,
}

/// What is left out. The timeout of an attempt then follows from the deadline.
impl Default for RouteRecord {
    fn default() -> Self {
        Self { attempt_timeout_seconds: None, ..RoutePolicy::default().into() }
    }
}

impl Default for BackoffRecord {
    fn default() -> Self {
        LinearBackoff::default().into()
    }
}

impl TryFrom<RouteRecord> for RoutePolicy {
    type Error = InvalidSetting;

    fn try_from(record: RouteRecord) -> Result<Self, InvalidSetting> {
        let mut policy = Self::builder()
            .attempts(count(record.attempts)?)
            .backoff(record.backoff.try_into()?)
            .reads(record.reads)
            .stream(record.stream);
        if let Some(deadline) = record.deadline_seconds {
            policy = policy.deadline(deadline.checked("deadline_seconds")?);
        }
        if let Some(limit) = record.attempt_timeout_seconds {
            policy = policy.attempt_timeout(limit.checked("attempt_timeout_seconds")?);
        }
        policy.build()
    }
}

impl From<RoutePolicy> for RouteRecord {
    fn from(policy: RoutePolicy) -> Self {
        let timing = policy.timing();
        Self {
            attempts: timing.attempts().into(),
            deadline_seconds: timing.deadline().map(Seconds::from),
            attempt_timeout_seconds: Some(timing.attempt_timeout().into()),
            reads: policy.reads().clone(),
            backoff: policy.backoff().into(),
            stream: policy.stream(),
        }
    }
}

impl TryFrom<BackoffRecord> for LinearBackoff {
    type Error = InvalidSetting;

    fn try_from(record: BackoffRecord) -> Result<Self, InvalidSetting> {
        let step = record.step_seconds.checked("backoff.step_seconds")?;
        Ok(Self::new(step, record.ceiling_seconds.checked("backoff.ceiling_seconds")?))
    }
}

impl From<LinearBackoff> for BackoffRecord {
    fn from(backoff: LinearBackoff) -> Self {
        Self { step_seconds: backoff.step().into(), ceiling_seconds: backoff.ceiling().into() }
    }
}

fn count(attempts: i64) -> Result<u32, InvalidSetting> {
    u32::try_from(attempts)
        .map_err(|_| InvalidSetting::new("attempts", attempts, format!("at least 1 and at most {}", u32::MAX)))
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RoutePolicy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        RouteRecord::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        RouteRecord::json_schema(generator)
    }
}
