//! One call of a method.

use std::{fmt, sync::Arc};

use rmpv::Value;
use serde::Serialize;
use tower::BoxError;

/// A call: the name of a method, and what it is given. A clone shares the arguments.
///
/// # Examples
///
/// ```
/// use tower_recovery_hypha::{Call, Value};
///
/// let read = Call::new("read").arg("public/my-artifact").keyword("stage", true);
/// assert_eq!((read.method(), read.arguments().len()), ("read", 1));
/// assert_eq!(read.keywords(), [(Value::from("stage"), Value::from(true))]);
/// ```
#[derive(Clone, PartialEq)]
pub struct Call {
    method: Arc<str>,
    arguments: Arc<Vec<Value>>,
    keywords: Arc<Vec<(Value, Value)>>,
}

impl Call {
    /// A call of this method, with no arguments yet. A dot in the name leads into a nested object of the service.
    pub fn new(method: impl Into<Arc<str>>) -> Self {
        Self { method: method.into(), arguments: Arc::default(), keywords: Arc::default() }
    }

    /// Appends a positional argument. Bytes are [`Value::Binary`].
    #[must_use]
    pub fn arg(mut self, value: impl Into<Value>) -> Self {
        Arc::make_mut(&mut self.arguments).push(value.into());
        self
    }

    /// Sets a keyword argument; of two with one name the last one counts.
    #[must_use]
    pub fn keyword(mut self, name: &str, value: impl Into<Value>) -> Self {
        let keywords = Arc::make_mut(&mut self.keywords);
        keywords.retain(|(set, _)| set.as_str() != Some(name));
        keywords.push((name.into(), value.into()));
        self
    }

    /// Appends a positional argument that serde makes of a value of your own: a struct becomes a map, as Python expects it.
    ///
    /// # Errors
    ///
    /// The value cannot be serialised.
    pub fn arg_of<T: Serialize>(self, value: &T) -> Result<Self, UnencodableValue> {
        let refused = |error: BoxError| UnencodableValue { method: Arc::clone(&self.method), source: error };
        let encoded = rmp_serde::to_vec_named(value).map_err(|error| refused(error.into()))?;
        let value = rmpv::decode::read_value(&mut encoded.as_slice()).map_err(|error| refused(error.into()))?;
        Ok(self.arg(value))
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn shared_method(&self) -> Arc<str> {
        Arc::clone(&self.method)
    }

    /// The positional arguments.
    #[must_use]
    pub fn arguments(&self) -> &[Value] {
        &self.arguments
    }

    /// The keyword arguments.
    #[must_use]
    pub fn keywords(&self) -> &[(Value, Value)] {
        &self.keywords
    }

    /// Whether a keyword argument of this name is set, to whatever value.
    #[must_use]
    pub fn has_keyword(&self, name: &str) -> bool {
        self.keywords.iter().any(|(set, _)| set.as_str() == Some(name))
    }
}

/// A value cannot be made an argument.
#[derive(Debug, thiserror::Error)]
#[error("an argument of {method} cannot be encoded")]
#[non_exhaustive]
pub struct UnencodableValue {
    /// The method that was to be given it.
    pub method: Arc<str>,
    source: BoxError,
}

/// Without the arguments: payloads are never logged.
impl fmt::Debug for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Call")
            .field("method", &self.method)
            .field("arguments", &self.arguments.len())
            .field("keywords", &self.keywords.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_that_is_set_twice_has_its_last_value() {
        let call = Call::new("read").keyword("silent", false).keyword("stage", true).keyword("silent", true);
        assert_eq!(call.keywords(), [("stage".into(), true.into()), ("silent".into(), true.into())]);
        assert!(call.has_keyword("silent") && !call.has_keyword("version"));
    }

    #[test]
    fn what_is_added_to_a_clone_leaves_the_original_alone() {
        let call = Call::new("read").arg("a");
        let other = call.clone().arg("b").keyword("silent", true);
        assert_eq!((call.arguments().len(), call.keywords().len()), (1, 0));
        assert_eq!((other.arguments().len(), other.keywords().len()), (2, 1));
    }

    #[test]
    fn a_payload_does_not_show_when_a_call_is_printed() {
        let printed = format!("{:?}", Call::new("put_file").arg("a secret").keyword("token", "another"));
        assert_eq!(printed, "Call { method: \"put_file\", arguments: 1, keywords: 1 }");
    }

    #[test]
    fn serde_makes_arguments() {
        #[derive(Serialize)]
        struct Manifest {
            name: &'static str,
        }
        let call = Call::new("create").arg_of(&Manifest { name: "a" }).unwrap();
        assert_eq!(call.arguments(), [Value::Map(vec![("name".into(), "a".into())])]);
    }
}
