use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use http::Response;
use tower_recovery::Delivery;

use super::*;
use crate::sse::VerdictKind;

fn read(status: u16, content_type: &str, items: Vec<SseItem>, rules: SseRules) -> (Vec<String>, Option<Failure>) {
    let head = Response::builder().status(status).header("content-type", content_type).body(()).unwrap().into_parts().0;
    let items: Vec<Result<SseItem, Failure>> = items.into_iter().map(Ok).collect();
    let report = StreamReport::default();
    let mut events = SseEvents { head, report, rules, raw: BytesMut::new(), items: Some(stream::iter(items)) };
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

fn event(data: &str) -> SseItem {
    SseItem::Event(SseEvent::new(data))
}

fn raw(text: impl Into<Bytes>) -> SseItem {
    SseItem::Raw(text.into())
}

fn verdict(failure: Option<Failure>) -> SseVerdict {
    let failure = failure.unwrap();
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    failure.find::<SseVerdict>().unwrap().clone()
}

#[test]
fn events_come_without_the_signs_of_life_between_them() {
    let items = vec![SseItem::KeepAlive, event("1"), SseItem::Progress, event("2")];
    let (data, failure) = read(200, EVENTS, items, SseRules::plain());
    assert_eq!((data, failure.is_none()), (vec!["1".to_owned(), "2".to_owned()], true));
}

#[test]
fn an_error_event_is_an_error_whose_status_is_not_that_of_the_head() {
    let error = r#"{"error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
    let (data, failure) = read(200, EVENTS, vec![event("1"), event(error), event("2")], SseRules::openai_chat());
    assert_eq!(data, ["1"]);
    let verdict = verdict(failure);
    assert_eq!((verdict.kind, verdict.status), (VerdictKind::Overloaded, None));
}

#[test]
fn what_ones_own_rules_call_a_verdict_is_one_in_its_own_words() {
    let rules = SseRules::new(|_| Sight::Verdict);
    let failed = SseItem::Event(SseEvent::new("out of paper").with_event("failed"));
    let verdict = verdict(read(200, EVENTS, vec![failed], rules).1);
    assert_eq!(
        (verdict.kind, verdict.code.as_deref(), verdict.message.as_deref()),
        (VerdictKind::Other, Some("failed"), Some("out of paper"))
    );
}

#[test]
fn a_status_that_is_no_success_is_the_verdict_with_or_without_a_body() {
    for items in [vec![], vec![raw(r#"{"error": "#), raw(r#"{"message": "later"}}"#)]] {
        let (has_body, (_, failure)) = (!items.is_empty(), read(503, "application/json", items, SseRules::plain()));
        let verdict = verdict(failure);
        assert_eq!((verdict.kind, verdict.status.unwrap().as_u16()), (VerdictKind::Overloaded, 503));
        assert_eq!(verdict.message.as_deref(), has_body.then_some("later"));
    }
}

#[test]
fn an_error_in_the_place_of_events_is_the_verdict() {
    for content_type in [EVENTS, "application/json"] {
        let items = vec![raw(r#"{"error": {"code": "rate_limit_exceeded"}}"#)];
        let verdict = verdict(read(200, content_type, items, SseRules::openai_chat()).1);
        assert_eq!((verdict.kind, verdict.status), (VerdictKind::RateLimited, None));
    }
}

#[test]
fn an_answer_without_events_and_without_a_verdict_is_said_to_be_one() {
    for (status, items) in [(204, vec![]), (200, vec![raw("<html>")]), (200, vec![])] {
        let failure = read(status, "text/html", items, SseRules::plain()).1.unwrap();
        assert_eq!(failure.find::<NoEventStream>().unwrap().status.as_u16(), status);
    }
}

#[test]
fn a_body_that_holds_no_events_is_not_read_for_ever() {
    let endless = (0..).map(|_| Ok(raw(vec![b' '; 1000])));
    let head = Response::builder().status(200).body(()).unwrap().into_parts().0;
    let (report, rules) = (StreamReport::default(), SseRules::plain());
    let mut events = SseEvents { head, report, rules, raw: BytesMut::new(), items: Some(stream::iter(endless)) };
    let failure = events.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert!(failure.find::<NoEventStream>().is_some());
    assert!(events.next().now_or_never().unwrap().is_none());
}
