//! JSON objects that say no.

use serde::Deserialize;
use serde_json::Value;

/// What tells the kinds of JSON objects apart: everything else in them is passed over.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Envelope {
    #[serde(default)]
    r#type: Value,
    #[serde(default)]
    error: Value,
}

impl Envelope {
    /// Empty for what is no JSON object.
    pub(super) fn of(text: &[u8]) -> Self {
        if !text.trim_ascii_start().starts_with(b"{") {
            return Self::default();
        }
        serde_json::from_slice(text).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> Option<&str> {
        self.r#type.as_str()
    }

    /// Whether there is an error in it, and not just a place for one.
    pub(super) fn is_error(&self) -> bool {
        says_something(&self.error)
    }
}

/// Whether this is a JSON object with an `error` at its top. A text that speaks of errors is none.
pub(crate) fn is_error_object(text: &[u8]) -> bool {
    // Most events are not read twice: in a JSON text, the quotes of a string's contents are escaped.
    memchr::memmem::find(text, br#""error""#).is_some() && Envelope::of(text).is_error()
}

/// The same values that the providers' own clients take for an error: those that are true in Python.
pub(super) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_at_the_top_of_an_object() {
        for (text, expected) in [
            (r#"{"error":{"message":"no"}}"#, true),
            (r#" {"id":"x", "choices":[], "error" : "no"}"#, true),
            ("{\"id\":\"x\",\n\"error\":[1]}", true),
            (r#"{"error":true}"#, true),
            (r#"{"error":502}"#, true),
            (r#"{"error":null}"#, false),
            (r#"{"error":false}"#, false),
            (r#"{"error":0}"#, false),
            (r#"{"error":""}"#, false),
            (r#"{"error":[]}"#, false),
            (r#"{"error":{}}"#, false),
            (r#"{"response":{"error":{"message":"no"}}}"#, false),
            (r#"{"choices":[{"delta":{"content":"{\"error\":{\"message\":\"no\"}}"}}]}"#, false),
            (r#"{"choices":[{"delta":{"content":"\"error\":"}}],"x":"\\"}"#, false),
            (r#"["error"]"#, false),
            (r#""error""#, false),
            (r#"{"error":{"message":"no"}"#, false),
            (r#"{"error":"a","error":"b"}"#, false),
            ("error", false),
            ("", false),
        ] {
            assert_eq!(is_error_object(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_nested_deeper_than_anybody_reads_is_no_error() {
        let deep = format!(r#"{{"x":{}1{},"error":"no"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let _ = is_error_object(deep.as_bytes());
    }
}
