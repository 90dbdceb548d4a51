//! Verdicts, typed.

use std::fmt;

use http::{StatusCode, response::Parts};
use serde_json::Value;

use super::{SseEvent, error_object::says_something};

/// The other side said no: by its status, or by an event in a stream that had begun well.
///
/// It reads the three shapes of errors that the presets of [`SseRules`](super::SseRules) know: `{"error": {…}}`, OpenAI's `error` and `response.failed` events, and
/// Anthropic's `error` event.
///
/// # Examples
///
/// ```
/// use tower_recovery_http::sse::{SseEvent, SseVerdict, VerdictKind};
///
/// let event = SseEvent::new(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#).with_event("error");
/// let verdict = SseVerdict::of_event(&event).unwrap();
/// assert_eq!(verdict.kind, VerdictKind::Overloaded);
/// assert_eq!(verdict.status, None, "the status of the head was 200, which is not what this says");
/// assert_eq!(verdict.to_string(), "overloaded, in the stream (overloaded_error): Overloaded");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct SseVerdict {
    /// What kind of no it is.
    pub kind: VerdictKind,
    /// The status that says so. `None` for what was said in a stream, or in the body of a success: its status says something else.
    pub status: Option<StatusCode>,
    /// The provider's word for it, the most specific one.
    pub code: Option<String>,
    /// The provider's sentence about it. It is cut at 2,048 characters, and may speak of what was asked: think before you log it.
    pub message: Option<String>,
}

/// What kind of no a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VerdictKind {
    /// The provider has more to do than it can, whoever asks: 503, 529.
    Overloaded,
    /// This user asks too often: 429.
    RateLimited,
    /// This user has nothing left to spend: 402, or 429 with a word of it.
    QuotaExceeded,
    /// Nobody knows this user: 401.
    Unauthenticated,
    /// This user may not: 403.
    PermissionDenied,
    /// There is no such thing: 404.
    NotFound,
    /// The request is larger than allowed: 413.
    TooLarge,
    /// The request is wrong: 400 and any other 4xx.
    InvalidRequest,
    /// It took too long over there: 408, 504.
    TimedOut,
    /// It failed over there: 500 and any other 5xx.
    ServerError,
    /// Anything else.
    Other,
}

const MAX_CHARACTERS: usize = 2048;

impl SseVerdict {
    /// What an event says that is an error by its name or by its data; `None` for any other.
    #[must_use]
    pub fn of_event(event: &SseEvent) -> Option<Self> {
        let object = object(event.data().as_bytes()).unwrap_or_default();
        let kind = event.event().filter(|name| *name != "message").or_else(|| text_at(&object, "/type"));
        let is_named_error = matches!(kind, Some("error" | "response.failed"));
        let found = Self::of_object(&object, is_named_error);
        // What is called an error and is in no known shape is one all the same, in its own words.
        found.or_else(|| is_named_error.then(|| Self::new(None, None, Some(event.data()))))
    }

    /// What an event says that rules of the user's call a verdict.
    pub(super) fn of_any_event(event: &SseEvent) -> Self {
        Self::of_event(event).unwrap_or_else(|| Self::new(None, event.event(), Some(event.data())))
    }

    /// What a head alone says; `None` for a success.
    #[must_use]
    pub fn of_head(head: &Parts) -> Option<Self> {
        (!head.status.is_success()).then(|| Self::new(Some(head.status), None, None))
    }

    /// What a response says whose body, or the beginning of it, is this: an error in JSON, after a success too, and in the place of events. `None` for a success
    /// without an error in it.
    #[must_use]
    pub fn of_body(head: &Parts, body: &[u8]) -> Option<Self> {
        let status = Some(head.status).filter(|status| !status.is_success());
        let object = object(body).unwrap_or_default();
        let is_named_error = status.is_some() || text_at(&object, "/type") == Some("error");
        let found = Self::of_object(&object, is_named_error).map(|found| Self { status, ..found });
        let found = found.map(|found| match status {
            Some(status) if found.kind == VerdictKind::Other => Self { kind: VerdictKind::of_status(status), ..found },
            _ => found,
        });
        found.or_else(|| Self::of_head(head))
    }

    /// The error that stands in an object: in its place, or, in one that is called an error, anywhere that is known.
    fn of_object(object: &Value, is_named_error: bool) -> Option<Self> {
        let nested = [object.pointer("/error"), object.pointer("/response/error").filter(|_| is_named_error)];
        let error = nested.into_iter().flatten().find(|error| says_something(error));
        let error = error.or_else(|| object.get("message").filter(|_| is_named_error).map(|_| object))?;
        if let Value::String(message) = error {
            return Some(Self::new(None, None, Some(message)));
        }
        let code = text_at(error, "/code");
        let class = text_at(error, "/type").filter(|class| *class != "error");
        // Gateways put the status of who is behind them there, as a number or as its digits.
        let number = error.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let status = number.and_then(|number| number.try_into().ok());
        let by_status = status.and_then(|status| StatusCode::from_u16(status).ok()).map(VerdictKind::of_status);
        let by_words = [code, class].into_iter().flatten().find_map(VerdictKind::of_word);
        let verdict = Self::new(None, code.or(class), text_at(error, "/message"));
        Some(Self { kind: by_words.or(by_status).unwrap_or(VerdictKind::Other), ..verdict })
    }

    fn new(status: Option<StatusCode>, code: Option<&str>, message: Option<&str>) -> Self {
        let kind = status.map_or(VerdictKind::Other, VerdictKind::of_status);
        Self { kind, status, code: code.map(cut), message: message.map(cut) }
    }
}

impl VerdictKind {
    /// The words of OpenAI (`type` and `code`) and of Anthropic (`type`), and of who is compatible with them.
    fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "overloaded_error" | "server_is_overloaded" | "overloaded" | "service_unavailable_error" => {
                Self::Overloaded
            }
            "rate_limit_error" | "rate_limit_exceeded" | "slow_down" | "too_many_requests" => Self::RateLimited,
            "insufficient_quota"
            | "billing_error"
            | "billing_hard_limit_reached"
            | "credit_balance_exhausted"
            | "organization_spend_limit_exceeded"
            | "organization_usage_limit_exceeded"
            | "project_spend_limit_exceeded" => Self::QuotaExceeded,
            "authentication_error" | "invalid_api_key" => Self::Unauthenticated,
            "permission_error" | "permission_denied" => Self::PermissionDenied,
            "not_found_error" | "model_not_found" => Self::NotFound,
            "request_too_large" => Self::TooLarge,
            "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" => Self::InvalidRequest,
            "timeout_error" => Self::TimedOut,
            "server_error" | "internal_server_error" | "api_error" => Self::ServerError,
            _ => return None,
        })
    }

    fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            503 | 529 => Self::Overloaded,
            429 => Self::RateLimited,
            402 => Self::QuotaExceeded,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::NotFound,
            413 => Self::TooLarge,
            408 | 504 => Self::TimedOut,
            400..500 => Self::InvalidRequest,
            500..600 => Self::ServerError,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for SseVerdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, ", self.kind)?;
        match self.status {
            Some(status) => write!(formatter, "status {}", status.as_u16())?,
            None => formatter.write_str("in the stream")?,
        }
        if let Some(code) = &self.code {
            write!(formatter, " ({code})")?;
        }
        self.message.as_ref().map_or(Ok(()), |message| write!(formatter, ": {message}"))
    }
}

impl fmt::Display for VerdictKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate limited",
            Self::QuotaExceeded => "quota exceeded",
            Self::Unauthenticated => "unauthenticated",
            Self::PermissionDenied => "permission denied",
            Self::NotFound => "not found",
            Self::TooLarge => "too large",
            Self::InvalidRequest => "invalid request",
            Self::TimedOut => "timed out",
            Self::ServerError => "server error",
            Self::Other => "another verdict",
        })
    }
}

fn object(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok().filter(Value::is_object)
}

fn text_at<'value>(value: &'value Value, pointer: &str) -> Option<&'value str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
