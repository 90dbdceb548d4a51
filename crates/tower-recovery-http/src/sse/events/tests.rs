use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use http::Response;
use tower_recovery::{
    Delivery,
    stream_replacement::{Sight, StreamRules},
};

use super::*;
use crate::sse::{NoEventStream, SseRules, SseVerdict, VerdictKind};

/// Over an answer whose body this is.
fn read(status: u16, content_type: &str, body: &'static str, rules: SseRules) -> (Vec<String>, Option<Failure>) {
    let body = http_body_util::Full::<Bytes>::from(body);
    let answer = Response::builder().status(status).header("content-type", content_type).body(body).unwrap();
    let (head, items) = rules.clone().open(answer);
    let items = items.map(|item| item.map_err(Failure::recover));
    let mut events = SseEvents { report: StreamReport::default(), reader: Reader::of(head), items: Some(items) };
    let (mut data, mut failure) = (Vec::new(), None);
    while let Some(event) = events.next().now_or_never().unwrap() {
        assert!(failure.is_none(), "nothing comes after an error");
        match event {
            Ok(event) => data.push(event.data().to_owned()),
            Err(error) => failure = Some(error),
        }
    }
    (data, failure)
}

const EVENTS: &str = "text/event-stream";

fn verdict(failure: Option<Failure>) -> SseVerdict {
    let failure = failure.unwrap();
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    failure.find::<SseVerdict>().unwrap().clone()
}

#[test]
fn events_come_without_the_signs_of_life_between_them() {
    let (data, failure) = read(200, EVENTS, ": hello\n\ndata: 1\n\n: ping\n\ndata: 2\n\ndat", SseRules::plain());
    assert_eq!((data, failure.is_none()), (vec!["1".to_owned(), "2".to_owned()], true));
}

#[test]
fn an_error_event_is_an_error_whose_status_is_not_that_of_the_head() {
    let body = "data: 1\n\ndata: {\"error\": {\"type\": \"overloaded_error\"}}\n\ndata: 2\n\n";
    let (data, failure) = read(200, EVENTS, body, SseRules::openai_chat());
    assert_eq!(data, ["1"]);
    let verdict = verdict(failure);
    assert_eq!((verdict.kind, verdict.status), (VerdictKind::Overloaded, None));
}

#[test]
fn what_ones_own_rules_call_a_verdict_is_one_in_its_own_words() {
    let rules = SseRules::new(|_| Sight::Verdict);
    let verdict = verdict(read(200, EVENTS, "event: failed\ndata: out of paper\n\n", rules).1);
    assert_eq!(
        (verdict.kind, verdict.code.as_deref(), verdict.message.as_deref()),
        (VerdictKind::Other, Some("failed"), Some("out of paper"))
    );
}

#[test]
fn a_status_that_is_no_success_is_the_verdict_with_or_without_a_body() {
    for (body, message) in [("", None), (r#"{"error": {"message": "later"}}"#, Some("later"))] {
        let verdict = verdict(read(503, "application/json", body, SseRules::plain()).1);
        assert_eq!((verdict.kind, verdict.status.unwrap().as_u16()), (VerdictKind::Overloaded, 503));
        assert_eq!(verdict.message.as_deref(), message);
    }
}

#[test]
fn an_error_in_the_place_of_events_is_the_verdict() {
    for content_type in [EVENTS, "application/json"] {
        let body = r#"{"error": {"code": "rate_limit_exceeded"}}"#;
        let verdict = verdict(read(200, content_type, body, SseRules::openai_chat()).1);
        assert_eq!((verdict.kind, verdict.status), (VerdictKind::RateLimited, None));
    }
}

#[test]
fn an_answer_without_events_and_without_a_verdict_is_said_to_be_one() {
    for (status, body) in [(204, ""), (200, "<html>"), (200, "")] {
        let failure = read(status, "text/html", body, SseRules::plain()).1.unwrap();
        assert_eq!(failure.find::<NoEventStream>().unwrap().status.as_u16(), status);
    }
}

/// Over these items, as they come where nobody watches below.
fn of_items<Items>(status: u16, content_type: &str, items: Items) -> SseEvents<Items> {
    let head = Response::builder().status(status).header("content-type", content_type).body(()).unwrap();
    let reader = Reader::of(head.into_parts().0);
    SseEvents { report: StreamReport::default(), reader, items: Some(items) }
}

/// The failure that is told of a body that breaks after these bytes.
fn broken_after(status: u16, content_type: &str, body: &'static str) -> Failure {
    let reset = || Failure::new(tower_recovery::Verdict::maybe_sent(), std::io::Error::other("reset"));
    let raw = (!body.is_empty()).then(|| Ok(SseItem::Raw(Bytes::from_static(body.as_bytes()))));
    let mut events = of_items(status, content_type, stream::iter(raw.into_iter().chain([Err(reset())])));
    let failure = events.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert!(events.next().now_or_never().unwrap().is_none(), "nothing comes after an error");
    failure
}

/// B73: what the other side said is told, whatever its transport did after that.
#[test]
fn b73_the_verdict_of_a_head_wins_over_what_broke_its_body() {
    for (body, code) in [
        ("", None),
        (r#"{"error": {"message": "cut o"#, None),
        (r#"{"error": {"type": "rate_limit_error"}}"#, Some("rate_limit_error")),
    ] {
        let verdict = verdict(Some(broken_after(429, "application/json", body)));
        assert_eq!((verdict.kind, verdict.status.unwrap().as_u16()), (VerdictKind::RateLimited, 429), "{body}");
        assert_eq!(verdict.code.as_deref(), code);
    }
    let error = r#"{"error": {"type": "overloaded_error"}}"#;
    assert_eq!(verdict(Some(broken_after(200, "application/json", error))).kind, VerdictKind::Overloaded);
}

#[test]
fn what_broke_a_body_that_had_said_no_no_is_told_as_it_is() {
    for (content_type, body) in [(EVENTS, ""), ("text/html", "<html>"), ("application/json", r#"{"error": {"#)] {
        let failure = broken_after(200, content_type, body);
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{content_type} {body}");
        assert!(failure.find::<std::io::Error>().is_some());
    }
}

#[test]
fn pings_are_no_events_to_a_reader() {
    let body = "event: ping\ndata: {}\n\nevent: content_block_delta\ndata: 1\n\nevent: ping\ndata: {}\n\n";
    let (data, failure) = read(200, EVENTS, body, SseRules::anthropic());
    assert_eq!((data, failure.is_none()), (vec!["1".to_owned()], true));
}

/// A connection that stays open after the last event is not waited for, and what it still carries is no part of the answer.
#[test]
fn with_a_terminal_event_the_stream_is_over_and_dropped() {
    let body = Bytes::from_static(b"data: 1\n\ndata: [DONE]\n\ndata: 2\n\n");
    let frames = stream::iter([Ok::<_, std::io::Error>(http_body::Frame::data(body))]).chain(stream::pending());
    let alive = std::sync::Arc::new(());
    let kept = std::sync::Arc::downgrade(&alive);
    let frames = frames.inspect(move |_| drop(std::sync::Arc::clone(&alive)));
    let answer = Response::builder().header("content-type", EVENTS);
    let answer = answer.body(http_body_util::StreamBody::new(frames)).unwrap();
    let (head, items) = SseRules::openai_chat().open(answer);
    let items = items.map(|item| item.map_err(Failure::recover));
    let mut events = SseEvents { report: StreamReport::default(), reader: Reader::of(head), items: Some(items) };
    for data in ["1", "[DONE]"] {
        assert!(kept.upgrade().is_some());
        assert_eq!(events.next().now_or_never().unwrap().unwrap().unwrap().data(), data);
    }
    assert!(kept.upgrade().is_none(), "its connection is let go with the last event");
    assert!(events.next().now_or_never().unwrap().is_none());
}

#[test]
fn a_body_that_holds_no_events_is_not_read_for_ever() {
    let endless = (0..).map(|_| Ok(SseItem::Raw(Bytes::from(vec![b' '; 1000]))));
    let head = Response::builder().status(200).body(()).unwrap().into_parts().0;
    let mut events =
        SseEvents { report: StreamReport::default(), reader: Reader::of(head), items: Some(stream::iter(endless)) };
    let failure = events.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert!(failure.find::<NoEventStream>().is_some());
    assert!(events.next().now_or_never().unwrap().is_none());
}
