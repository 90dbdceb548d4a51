use http::{HeaderValue, Response, header};

use super::*;

fn head(status: u16, content_type: &'static str) -> Parts {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.into_parts().0
}

fn kind_and_words(verdict: &SseVerdict) -> (VerdictKind, Option<&str>, Option<&str>) {
    (verdict.kind, verdict.code.as_deref(), verdict.message.as_deref())
}

/// B73: what is said in a stream never has the status of its head.
#[test]
fn b73_an_error_event_of_every_shape_is_typed() {
    for (name, data, kind, code, message) in [
        (
            "error",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"1"}"#,
            VerdictKind::Overloaded,
            Some("overloaded_error"),
            Some("Overloaded"),
        ),
        (
            "",
            r#"{"error":{"message":"Slow","type":"requests","code":"rate_limit_exceeded","param":null}}"#,
            VerdictKind::RateLimited,
            Some("rate_limit_exceeded"),
            Some("Slow"),
        ),
        ("", r#"{"error":{"message":"m","code":502}}"#, VerdictKind::ServerError, None, Some("m")),
        ("", r#"{"error":{"message":"m","code":99999}}"#, VerdictKind::Other, None, Some("m")),
        ("", r#"{"error":"m"}"#, VerdictKind::Other, None, Some("m")),
        ("", r#"{"error":{"message":"m","code":"429"}}"#, VerdictKind::RateLimited, Some("429"), Some("m")),
        ("", r#"{"error":true}"#, VerdictKind::Other, None, None),
        ("", r#"{"error":{"code":"new","type":"insufficient_quota"}}"#, VerdictKind::QuotaExceeded, Some("new"), None),
        (
            "error",
            r#"{"type":"error","sequence_number":3,"code":"server_error","message":"m","param":null}"#,
            VerdictKind::ServerError,
            Some("server_error"),
            Some("m"),
        ),
        (
            "",
            r#"{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"m"}}}"#,
            VerdictKind::Overloaded,
            Some("server_is_overloaded"),
            Some("m"),
        ),
        (
            "response.failed",
            r#"{"response":{"error":null}}"#,
            VerdictKind::Other,
            None,
            Some(r#"{"response":{"error":null}}"#),
        ),
        ("error", "no JSON", VerdictKind::Other, None, Some("no JSON")),
    ] {
        let verdict = SseVerdict::of_event(&SseEvent::new(data).with_event(name)).unwrap();
        assert_eq!(kind_and_words(&verdict), (kind, code, message), "{data}");
        assert_eq!(verdict.status, None);
    }
}

#[test]
fn an_event_that_is_no_error_is_no_verdict() {
    for (name, data) in [
        ("", r#"{"choices":[{"delta":{"content":"{\"error\":1}"}}],"error":null}"#),
        ("response.completed", r#"{"type":"response.completed","response":{"error":null},"message":"m"}"#),
        ("message", r#"{"type":"message","message":"m"}"#),
        ("", r#"{"error":{}}"#),
        ("", r#"{"error":false}"#),
        ("", "[DONE]"),
        ("", ""),
    ] {
        assert_eq!(SseVerdict::of_event(&SseEvent::new(data).with_event(name)), None, "{data}");
    }
}

#[test]
fn a_status_is_a_verdict_of_its_own_and_its_body_says_more() {
    let overloaded = br#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let quota = br#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
    let unknown = br#"{"error":{"code":"brand_new","message":"m"}}"#;
    for (status, body, kind, code) in [
        (503, &b"<html>"[..], VerdictKind::Overloaded, None),
        (529, overloaded, VerdictKind::Overloaded, Some("overloaded_error")),
        (500, overloaded, VerdictKind::Overloaded, Some("overloaded_error")),
        (429, b"", VerdictKind::RateLimited, None),
        (429, quota, VerdictKind::QuotaExceeded, Some("insufficient_quota")),
        (400, unknown, VerdictKind::InvalidRequest, Some("brand_new")),
        (401, b"{}", VerdictKind::Unauthenticated, None),
        (403, b"{}", VerdictKind::PermissionDenied, None),
        (404, br#"{"message":"m"}"#, VerdictKind::NotFound, None),
        (504, b"", VerdictKind::TimedOut, None),
        (302, b"", VerdictKind::Other, None),
    ] {
        let head = head(status, "application/json");
        let verdict = SseVerdict::of_body(&head, body).unwrap();
        assert_eq!((verdict.kind, verdict.code.as_deref()), (kind, code), "{status}");
        assert_eq!(verdict.status, Some(head.status));
        assert_eq!(SseVerdict::of_head(&head).unwrap().status, Some(head.status));
    }
}

#[test]
fn a_success_is_a_verdict_by_its_body_alone() {
    let error = br#"{"error":{"type":"server_error","message":"m"}}"#;
    let json = head(200, "application/json");
    assert_eq!(SseVerdict::of_head(&json), None);
    assert_eq!(SseVerdict::of_body(&json, b"{\"choices\":[]}"), None);
    let verdict = SseVerdict::of_body(&json, error).unwrap();
    assert_eq!((verdict.kind, verdict.status), (VerdictKind::ServerError, None));
    let in_the_place_of_events = head(200, "text/event-stream");
    assert_eq!(SseVerdict::of_body(&in_the_place_of_events, error), Some(verdict));
    assert_eq!(SseVerdict::of_body(&in_the_place_of_events, b"data: {\"error\":{}}\n\n"), None, "events are");
}

#[test]
fn texts_are_cut_at_a_character() {
    let data = format!(r#"{{"error":{{"code":"{0}","message":"{0}"}}}}"#, "\u{fc}".repeat(3_000));
    let verdict = SseVerdict::of_event(&SseEvent::new(data)).unwrap();
    for text in [verdict.code.unwrap(), verdict.message.unwrap()] {
        assert_eq!(text, "\u{fc}".repeat(2_048));
    }
}

#[test]
fn a_verdict_reads_like_a_sentence() {
    let verdict = SseVerdict::of_head(&head(503, "text/html")).unwrap();
    assert_eq!(verdict.to_string(), "overloaded, status 503");
}
