//! How a read is silenced.

use http::{
    Uri,
    uri::{Parts, PathAndQuery},
};
use tower_recovery::InvalidSetting;

/// How a read is asked not to count: by a query parameter. One that the caller set itself stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    name: String,
    value: String,
}

impl Silence {
    /// By this parameter with this value, both as they are to stand in the query.
    ///
    /// # Errors
    ///
    /// Text that cannot stand in a query as it is.
    pub fn query(name: impl Into<String>, value: impl Into<String>) -> Result<Self, InvalidSetting> {
        let silence = Self { name: name.into(), value: value.into() };
        let alone = |text: &str| !text.contains(['&', '=', '#']);
        match silence.applied_to(&Uri::from_static("/")) {
            Some(_) if !silence.name.is_empty() && alone(&silence.name) && alone(&silence.value) => Ok(silence),
            _ => {
                let pair = format!("{}={}", silence.name, silence.value);
                Err(InvalidSetting::new("silence", pair, "a name and a value that can stand in a query as they are"))
            }
        }
    }

    /// The same URI with the parameter, or `None` where it has one, or no room.
    pub(super) fn applied_to(&self, uri: &Uri) -> Option<Uri> {
        let path_and_query = format!("{}?{}", uri.path(), self.added_to(uri.query().unwrap_or_default())?);
        let mut parts = Parts::from(uri.clone());
        parts.path_and_query = Some(PathAndQuery::try_from(path_and_query).ok()?);
        Uri::from_parts(parts).ok()
    }

    /// The same query with the parameter, or `None` where it has one.
    pub(crate) fn added_to(&self, query: &str) -> Option<String> {
        if query.split('&').any(|pair| pair.split('=').next() == Some(self.name.as_str())) {
            return None;
        }
        let separator = if query.is_empty() { "" } else { "&" };
        Some(format!("{query}{separator}{}={}", self.name, self.value))
    }
}
