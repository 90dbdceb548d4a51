//! The policy of streams as it stands in a file.

use serde::{Deserialize, Serialize};

use super::time::Seconds;
use crate::{
    InvalidSetting,
    policy::{StreamMode, StreamPolicy, stream},
};

/// What becomes of a stream that breaks or falls silent.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename = "StreamPolicy")]
pub(in crate::policy) struct StreamRecord {
    /// What may be done.
    mode: StreamMode,
    /// After how long without a byte it is silent.
    #[serde(default = "idle")]
    idle_seconds: Seconds,
    /// After how long with nothing but keep-alives it is silent. Longer than `idle_seconds`; default: four times as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keep_alive_idle_seconds: Option<Seconds>,
    /// How long a probe waits for its answer.
    #[serde(default = "probe_timeout")]
    probe_timeout_seconds: Seconds,
    /// How long after the first probe the second one starts.
    #[serde(default = "probe_interval")]
    probe_interval_seconds: Seconds,
    /// How long a silent stream is still waited for after a probe got its answer.
    #[serde(default = "recovery_grace")]
    recovery_grace_seconds: Seconds,
    /// How often one call's stream may be replaced.
    #[serde(default = "max_replacements")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = StreamPolicy::MOST_REPLACEMENTS)))]
    max_replacements: i64,
}

// One function a field, because a default of the whole record would have a mode.
fn idle() -> Seconds {
    StreamPolicy::default().idle().into()
}

fn probe_timeout() -> Seconds {
    StreamPolicy::default().probe_timeout().into()
}

fn probe_interval() -> Seconds {
    StreamPolicy::default().probe_interval(1).into()
}

fn recovery_grace() -> Seconds {
    StreamPolicy::default().recovery_grace().into()
}

fn max_replacements() -> i64 {
    StreamPolicy::default().max_replacements().into()
}

impl TryFrom<StreamRecord> for StreamPolicy {
    type Error = InvalidSetting;

    fn try_from(record: StreamRecord) -> Result<Self, InvalidSetting> {
        let replacements = u32::try_from(record.max_replacements)
            .map_err(|_| stream::replacements_out_of_bounds(record.max_replacements))?;
        let mut policy = Self::builder(record.mode)
            .idle(record.idle_seconds.checked("idle_seconds")?)
            .probe_timeout(record.probe_timeout_seconds.checked("probe_timeout_seconds")?)
            .probe_interval(record.probe_interval_seconds.checked("probe_interval_seconds")?)
            .recovery_grace(record.recovery_grace_seconds.checked("recovery_grace_seconds")?)
            .max_replacements(replacements);
        if let Some(limit) = record.keep_alive_idle_seconds {
            policy = policy.keep_alive_idle(limit.checked("keep_alive_idle_seconds")?);
        }
        policy.build()
    }
}

impl From<StreamPolicy> for StreamRecord {
    fn from(policy: StreamPolicy) -> Self {
        Self {
            mode: policy.mode(),
            idle_seconds: policy.idle().into(),
            keep_alive_idle_seconds: Some(policy.keep_alive_idle().into()),
            probe_timeout_seconds: policy.probe_timeout().into(),
            probe_interval_seconds: policy.probe_interval(1).into(),
            recovery_grace_seconds: policy.recovery_grace().into(),
            max_replacements: policy.max_replacements().into(),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for StreamPolicy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        StreamRecord::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        StreamRecord::json_schema(generator)
    }
}
