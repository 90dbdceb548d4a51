//! What a head says of its body.

use http::{HeaderMap, StatusCode, header};

/// Whether the body holds events: a success, with a body, of the type `text/event-stream` and in no coding.
pub(super) fn is_event_stream(status: StatusCode, headers: &HeaderMap) -> bool {
    let has_body = !matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT);
    status.is_success() && has_body && is_of_the_type(headers) && is_plain(headers)
}

fn is_of_the_type(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    codings.all(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn events_are_looked_for_in_a_success_that_says_so() {
        for (status, content_type, coding, expected) in [
            (200, Some("text/event-stream"), None, true),
            (200, Some("Text/Event-Stream ; charset=utf-8"), None, true),
            (201, Some("text/event-stream"), Some("identity"), true),
            (200, Some("text/event-stream"), Some("gzip"), false),
            (200, Some("text/event-streams"), None, false),
            (200, Some("application/json"), None, false),
            (200, None, None, false),
            (204, Some("text/event-stream"), None, false),
            (205, Some("text/event-stream"), None, false),
            (301, Some("text/event-stream"), None, false),
            (503, Some("text/event-stream"), None, false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(header::CONTENT_TYPE, content_type), (header::CONTENT_ENCODING, coding)] {
                headers.extend(value.map(|value| (name, HeaderValue::from_static(value))));
            }
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_event_stream(status, &headers), expected, "{status} {content_type:?} {coding:?}");
        }
    }
}
