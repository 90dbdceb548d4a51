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
