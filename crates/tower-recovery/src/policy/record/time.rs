//! A time as it stands in a file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{InvalidSetting, policy::seconds};

/// A number of seconds, not checked yet: a deserialiser's error would not name the field.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Seconds(f64);

impl Seconds {
    pub(super) fn checked(self, field: &'static str) -> Result<Duration, InvalidSetting> {
        seconds::read(field, self.0)
    }
}

impl From<Duration> for Seconds {
    fn from(time: Duration) -> Self {
        Self(time.as_secs_f64())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Seconds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number of seconds, fractions allowed.",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": seconds::MOST,
        })
    }
}
