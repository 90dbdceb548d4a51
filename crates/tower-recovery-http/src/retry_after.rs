//! What an answer says about when to come again.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

/// The `Retry-After` of an answer (RFC 9110 §10.2.3): carried for whoever wants it. No layer acts on it: an answer is final.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::{Response, header};
/// use tower_recovery_http::RetryAfter;
///
/// let response = Response::builder().status(503).header(header::RETRY_AFTER, "120").body(())?;
/// let retry_after = RetryAfter::of(response.headers()).unwrap();
/// assert_eq!(retry_after.delay_from(SystemTime::now()), Duration::from_secs(120));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two forms of RFC 9110 §10.2.3")]
pub enum RetryAfter {
    /// So long after the answer came.
    Delay(Duration),
    /// Not before this date.
    Date(SystemTime),
}

impl RetryAfter {
    /// What the headers say; `None` where they say nothing, or nothing that can be read.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            // RFC 9110 sets no bound; a number that is too large for a u64 is not one that anybody waits for.
            return text.parse().ok().map(|seconds| Self::Delay(Duration::from_secs(seconds)));
        }
        httpdate::parse_http_date(text).ok().map(Self::Date)
    }

    /// How long that is from `now`; nothing where the date has passed.
    #[must_use]
    pub fn delay_from(self, now: SystemTime) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::Date(date) => date.duration_since(now).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(text: &'static str) -> Option<RetryAfter> {
        RetryAfter::of(&HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(text))]))
    }

    #[test]
    fn both_forms_are_read_and_anything_else_is_nothing() {
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (text, expected) in [
            ("0", Some(RetryAfter::Delay(Duration::ZERO))),
            (" 120 ", Some(RetryAfter::Delay(Duration::from_secs(120)))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(RetryAfter::Date(date))),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(of(text), expected, "{text:?}");
        }
        assert_eq!(RetryAfter::of(&HeaderMap::new()), None);
    }

    #[test]
    fn a_date_that_has_passed_is_no_delay() {
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let delay = |now| RetryAfter::Date(date).delay_from(SystemTime::UNIX_EPOCH + Duration::from_secs(now));
        assert_eq!([90, 100, 110].map(delay).map(|delay| delay.as_secs()), [10, 0, 0]);
    }
}
