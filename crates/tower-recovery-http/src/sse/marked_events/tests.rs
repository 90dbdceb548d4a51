use std::{io, sync::Mutex, vec};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::StreamBody;
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{
    Delivery, NamedRules, ReadMethods, StreamMode, StreamPolicy, StreamReplacementLayer, stream_replacement::Marked,
};

use super::*;
use crate::sse::{NoEventStream, SseRules, SseVerdict, VerdictKind};

const EVENTS: &str = "text/event-stream";
const OVERLOADED: &str = r#"{"error": {"type": "overloaded_error"}}"#;

type Answer = Response<StreamBody<stream::Iter<vec::IntoIter<Result<Frame<Bytes>, io::Error>>>>>;

/// An answer of these bytes, which breaks after them or ends.
fn answer(status: u16, content_type: &str, body: &str, breaks: bool) -> Answer {
    let frame = Ok(Frame::data(Bytes::copy_from_slice(body.as_bytes())));
    let reset = breaks.then(|| Err(io::ErrorKind::ConnectionReset.into()));
    let frames: Vec<_> = [frame].into_iter().chain(reset).collect();
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(StreamBody::new(stream::iter(frames))).unwrap()
}

/// What is read, each event by its data and each mark by its status, of a stream whose attempts are answered like this.
async fn read(mode: StreamMode, rules: SseRules, answers: Vec<Answer>) -> (Vec<String>, Option<Failure>) {
    let answers = std::sync::Arc::new(Mutex::new(answers.into_iter()));
    let api = service_fn(move |()| {
        let answer = answers.lock().unwrap().next().expect("no more is asked for");
        async move { Ok::<_, BoxError>(answer) }
    });
    let policy = StreamPolicy::builder(mode).max_replacements(1).build().unwrap();
    let requests = NamedRules::new(|_: &()| "chat", ReadMethods::new()).copied_by(|()| Some(()));
    let layer = StreamReplacementLayer::new(policy, requests, rules, Marked);
    let admitted = ServiceBuilder::new().layer(layer).service(api).oneshot(()).await.unwrap();
    let mut events = Box::pin(SseMarkedEvents::of(admitted));
    let (mut seen, mut failure) = (Vec::new(), None);
    while let Some(item) = events.next().await {
        assert!(failure.is_none(), "nothing comes after an error");
        match item {
            Ok(MarkedItem::Item(event)) => seen.push(event.data().to_owned()),
            Ok(MarkedItem::Restarted(restarted)) => {
                assert_eq!(events.head().status, restarted.head.status, "its head is that of what comes now");
                seen.push(format!("anew: {}", restarted.head.status.as_u16()));
            }
            Err(error) => failure = Some(error),
        }
    }
    (seen, failure)
}

const REPLACED: StreamMode = StreamMode::RetryOnHealthyProbe;

fn verdict(failure: Option<Failure>) -> SseVerdict {
    let failure = failure.unwrap();
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    failure.find::<SseVerdict>().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn events_come_and_a_mark_where_they_begin_anew() {
    let first = answer(200, EVENTS, ": hello\n\ndata: 1\n\ndata: 2\n\nda", true);
    let second = answer(200, EVENTS, "data: 3\n\n: ping\n\ndata: [DONE]\n\n", false);
    let (seen, failure) = read(REPLACED, SseRules::openai_chat(), vec![first, second]).await;
    assert_eq!((&seen[..], failure.is_none()), (&["1", "2", "anew: 200", "3", "[DONE]"].map(Into::into)[..], true));
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_an_answer_is_said_of_the_one_that_has_taken_its_place() {
    let first = || answer(200, EVENTS, "data: 1\n\n", true);
    let refusing = answer(503, "application/json", OVERLOADED, false);
    let (seen, failure) = read(REPLACED, SseRules::openai_chat(), vec![first(), refusing]).await;
    assert_eq!(seen, ["1", "anew: 503"]);
    let verdict = verdict(failure);
    assert_eq!((verdict.kind, verdict.status.unwrap().as_u16()), (VerdictKind::Overloaded, 503));

    let (seen, failure) =
        read(REPLACED, SseRules::openai_chat(), vec![first(), answer(200, "text/html", "<html>", false)]).await;
    assert_eq!(seen, ["1", "anew: 200"]);
    assert!(failure.unwrap().find::<NoEventStream>().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_error_event_is_an_error() {
    let said = answer(200, EVENTS, &format!("data: 1\n\ndata: {OVERLOADED}\n\ndata: 2\n\n"), true);
    let (seen, failure) = read(REPLACED, SseRules::openai_chat(), vec![said]).await;
    let verdict = verdict(failure);
    assert_eq!((seen, verdict.kind, verdict.status), (vec!["1".to_owned()], VerdictKind::Overloaded, None));
}

/// B73, also where nobody watches.
#[tokio::test(start_paused = true)]
async fn b73_the_verdict_of_a_head_wins_over_what_broke_its_body() {
    for mode in [REPLACED, StreamMode::Disabled] {
        for (body, code) in [(OVERLOADED, Some("overloaded_error")), (&OVERLOADED[..20], None)] {
            let refusing = answer(529, "application/json", body, true);
            let (seen, failure) = read(mode, SseRules::openai_chat(), vec![refusing]).await;
            let verdict = verdict(failure);
            assert_eq!((seen.len(), verdict.status.unwrap().as_u16()), (0, 529), "{mode:?}");
            assert_eq!((verdict.kind, verdict.code.as_deref()), (VerdictKind::Overloaded, code));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pings_are_passed_over_and_the_last_event_is_the_end_where_nobody_watches() {
    for mode in [REPLACED, StreamMode::Disabled] {
        let ping = "event: ping\ndata: {}\n\n";
        let body = format!("{ping}event: delta\ndata: 1\n\n{ping}event: message_stop\ndata: 2\n\ndata: 3\n\n");
        let (seen, failure) = read(mode, SseRules::anthropic(), vec![answer(200, EVENTS, &body, true)]).await;
        assert_eq!((&seen[..], failure.is_none()), (&["1", "2"].map(Into::into)[..], true), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_an_event_stream_is_told_as_it_is() {
    let (seen, failure) =
        read(StreamMode::Disabled, SseRules::plain(), vec![answer(200, EVENTS, "data: 1\n\n", true)]).await;
    assert_eq!((seen, failure.unwrap().delivery()), (vec!["1".to_owned()], Some(Delivery::MaybeSent)));
}

#[test]
fn an_error_is_the_end() {
    let head = Response::new(()).into_parts().0;
    let failing = || Err(Failure::recover(io::Error::from(io::ErrorKind::ConnectionReset).into()));
    let items = stream::repeat_with(failing);
    let mut events = SseMarkedEvents { reader: Reader::of(head), items: Some(items) };
    assert!(events.next().now_or_never().unwrap().unwrap().is_err());
    assert!(events.next().now_or_never().unwrap().is_none());
}
