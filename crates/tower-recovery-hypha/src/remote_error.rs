//! What the other side's method raised.

use std::fmt;

use rmpv::Value;

/// An error that the method itself raised on the other side.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteError {
    kind: String,
    message: String,
    trace: String,
}

impl RemoteError {
    /// An error to answer with.
    #[must_use]
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), trace: String::new() }
    }

    /// Its type as Python names it, such as `KeyError`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// Reads the argument of a `reject`.
    pub(crate) fn from_value(value: &Value) -> Self {
        Self::new("Error", value.to_string())
    }

    /// Writes the argument of a `reject`.
    pub(crate) fn to_value(&self) -> Value {
        let field = |name: &str, value: &str| (Value::from(name), Value::from(value));
        Value::Map(vec![field("_rtype", "error"), field("_rvalue", &self.message), field("_rtrace", &self.trace)])
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.message)
    }
}

impl fmt::Debug for RemoteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteError")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for RemoteError {}
