//! What the other side's method raised.

mod traceback;

use std::fmt;

use rmpv::Value;

use self::traceback::Traceback;
use crate::text;

/// The most that is kept of a message, and of a trace.
const LONGEST: usize = 16 * 1024;
/// The kind of an error of which nothing but a message came.
const UNKNOWN_KIND: &str = "Error";

/// An error that the method itself raised on the other side.
///
/// A service written in Python tells the type, the message and the traceback; for an error group those of the group, and where one exception led to another
/// those of the last. Other languages may send a message only, and so does the server for a call that it could not route: the kind is `Error` then.
///
/// # Examples
///
/// ```
/// # use tower_recovery_hypha::RemoteError;
/// let error = RemoteError::new("KeyError", "'x'");
///
/// assert_eq!(error.kind(), "KeyError");
/// assert_eq!(error.to_string(), "KeyError: 'x'");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteError {
    kind: String,
    message: String,
    trace: String,
}

impl RemoteError {
    /// An error for a method of ours to raise. Of a message longer than 16 KiB, the beginning is kept.
    #[must_use]
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: beginning(message.into()), trace: String::new() }
    }

    /// The name of its type as Python prints it: `KeyError`, with the module for a type that is not built in, such as `store.errors.Refused`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its message, which may be empty, and at most 16 KiB of it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The traceback as it came, or nothing. Of one longer than 16 KiB, the end is kept, where the error was raised. It shows code and paths of the other side.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// Reads the argument of a `reject`. Where it is no encoded error, its text is the message.
    ///
    /// `hypha-rpc` encodes what a method raised in its task as an exception whose text is the traceback, and what was raised before as itself.
    pub(crate) fn from_value(value: &Value) -> Self {
        let Some((text, trace)) = encoded_error(value) else {
            return Self::new(UNKNOWN_KIND, text_of(value));
        };
        if let Some(Traceback { kind, message }) = Traceback::read(&text) {
            return Self { trace: end(&text), ..Self::new(kind, message) };
        }
        let kind = traceback::kind_before(trace, &text).or_else(|| Traceback::read(trace).map(|read| read.kind));
        Self { trace: end(trace), ..Self::new(kind.unwrap_or_else(|| UNKNOWN_KIND.to_owned()), text) }
    }

    /// Writes the argument of a `reject`, from which Python shows kind and message, and [`RemoteError::from_value`] reads both again.
    pub(crate) fn to_value(&self) -> Value {
        let summary = self.to_string();
        let trace = match self.trace.as_str() {
            "" if self.kind == UNKNOWN_KIND => String::new(),
            "" => summary,
            trace if trace.trim_end_matches('\n').ends_with(&summary) => trace.to_owned(),
            trace => format!("{trace}\n{summary}"),
        };
        let field = |name: &str, value: &str| (Value::from(name), Value::from(value));
        Value::Map(vec![field("_rtype", "error"), field("_rvalue", &self.message), field("_rtrace", &trace)])
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind)?;
        if self.message.is_empty() {
            return Ok(());
        }
        write!(formatter, ": {}", self.message)
    }
}

/// Without the trace, which shows code of the other side.
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

/// Text and trace of an encoded error.
fn encoded_error(value: &Value) -> Option<(String, &str)> {
    let fields = value.as_map()?;
    let field = |name: &str| fields.iter().rev().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value);
    if field("_rtype")?.as_str() != Some("error") {
        return None;
    }
    let text = field("_rvalue").map(text_of).unwrap_or_default();
    Some((text, field("_rtrace").and_then(Value::as_str).unwrap_or_default()))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        other => {
            let mut start = Start(String::new());
            // Ends early once there is enough.
            let _ = fmt::write(&mut start, format_args!("{other}"));
            start.0
        }
    }
}

/// Takes the beginning of a text: a value can be much longer than what is kept of it.
struct Start(String);

impl fmt::Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > LONGEST { Err(fmt::Error) } else { Ok(()) }
    }
}

fn beginning(mut text: String) -> String {
    text.truncate(text::beginning(&text, LONGEST).len());
    text
}

fn end(text: &str) -> String {
    let begin = text.len().saturating_sub(LONGEST);
    let begin = (begin..text.len()).find(|&at| text.is_char_boundary(at));
    text[begin.unwrap_or(text.len())..].to_owned()
}

#[cfg(test)]
mod tests;
