//! Rules of the user's on answers.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Which answers a rule is about: those with this status and all of these headers.
///
/// What the rule says of them is said where it is given: [`HttpClassifier::refused_if`](super::HttpClassifier::refused_if),
/// [`HttpClassifier::stale_if`](super::HttpClassifier::stale_if).
///
/// # Examples
///
/// ```
/// use http::{HeaderName, HeaderValue, StatusCode};
/// use tower_recovery_http::AnswerRule;
///
/// let draining = AnswerRule::status(StatusCode::SERVICE_UNAVAILABLE)
///     .with_header_value(HeaderName::from_static("x-state"), HeaderValue::from_static("draining"));
/// # let _ = draining;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRule {
    status: StatusCode,
    headers: Vec<(HeaderName, Option<HeaderValue>)>,
}

impl AnswerRule {
    /// Answers with this status.
    #[must_use]
    pub fn status(status: StatusCode) -> Self {
        Self { status, headers: Vec::new() }
    }

    /// Only those that have this header, whatever its value.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName) -> Self {
        self.headers.push((name, None));
        self
    }

    /// Only those that have this header with exactly this value.
    #[must_use]
    pub fn with_header_value(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, Some(value)));
        self
    }

    /// A 503 with the header `finagle-http-nack`: a Finagle server says that it did not process the request, and that it may be sent
    /// again. (Its other header, `finagle-http-nonretryable-nack`, asks not to.)
    #[must_use]
    pub fn finagle_nack() -> Self {
        Self::status(StatusCode::SERVICE_UNAVAILABLE).with_header(HeaderName::from_static("finagle-http-nack"))
    }

    /// A 503 with the header `x-envoy-overloaded`: an Envoy dropped the request by its circuit breaker or for maintenance, before it sent it on.
    ///
    /// Take it only where that Envoy does not retry by itself: with retries, an earlier try of its own may have been executed.
    #[must_use]
    pub fn envoy_overloaded() -> Self {
        Self::status(StatusCode::SERVICE_UNAVAILABLE).with_header(HeaderName::from_static("x-envoy-overloaded"))
    }

    pub(super) fn matches(&self, status: StatusCode, headers: &HeaderMap) -> bool {
        let has = |(name, wanted): &(HeaderName, Option<HeaderValue>)| match wanted {
            None => headers.contains_key(name),
            Some(wanted) => headers.get_all(name).iter().any(|value| value == wanted),
        };
        status == self.status && self.headers.iter().all(has)
    }
}
