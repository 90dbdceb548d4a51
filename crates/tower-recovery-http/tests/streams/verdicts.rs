//! What the other side says itself, and what says nothing.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Response, StatusCode, header::CONTENT_TYPE};
use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{RecoveryEvent, stream_replacement::StreamEnd};
use tower_recovery_http::sse::{SseItem, SseVerdict, VerdictKind};
use tower_recovery_test::faulty::{StreamEnding, StreamScript};

use super::support::{GRACE, Model, Wire, bounded, broken, complete, question, replacing, saying, texts};

const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

/// What the answer says, read as whoever wants to know would.
fn verdict(head: &http::response::Parts, items: &[SseItem]) -> SseVerdict {
    match items.last() {
        Some(SseItem::Event(event)) => SseVerdict::of_event(event),
        Some(SseItem::Raw(body)) => SseVerdict::of_body(head, body),
        _ => SseVerdict::of_head(head),
    }
    .expect("it is a verdict")
}

fn refusing(status: u16) -> Response<Bytes> {
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(Bytes::from_static(OVERLOADED.as_bytes())).expect("a response")
}

#[tokio::test]
async fn b73a_a_status_that_refuses_is_the_answer() {
    for wire in Wire::all() {
        for status in [503, 529] {
            let script = StreamScript::new().send_answer(usize::MAX);
            let model =
                Model::start(wire, |server| server.application(move |_| refusing(status)).streams(script)).await;
            let whole = model.whole(replacing(2)).await.unwrap();
            let verdict = verdict(&whole.head, &whole.items);
            assert_eq!(
                (verdict.kind, verdict.status.map(|status| status.as_u16())),
                (VerdictKind::Overloaded, Some(status))
            );
            assert_eq!((model.calls(), whole.report.attempts), (1, 1));
        }
    }
}

#[tokio::test]
async fn b73bc_an_error_event_is_the_answer_whatever_ends_the_stream_after_it() {
    for wire in Wire::all() {
        for ending in wire.cuts().into_iter().chain([StreamEnding::End, StreamEnding::Silence]) {
            let script = saying(["one", "two"]).send(format!("event: error\ndata: {OVERLOADED}\n\n")).then(ending);
            let model = Model::streaming(wire, script).await;
            let whole = model.whole(replacing(2)).await.unwrap();
            let verdict = verdict(&whole.head, &whole.items);
            assert_eq!((verdict.kind, verdict.status), (VerdictKind::Overloaded, None), "{wire:?} {ending:?}");
            assert!(!verdict.to_string().contains("200"), "{verdict}");
            assert_eq!((whole.items.len(), model.calls(), whole.report.attempts), (3, 1, 1));
        }
    }
}

#[tokio::test]
async fn b73b_an_error_event_that_comes_first_is_handed_out_as_the_first_item() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, saying([OVERLOADED]).then(wire.reset())).await;
        bounded(async {
            let admitted = model.chat(replacing(2)).until_first_item().oneshot(question()).await.unwrap();
            let mut items = pin!(admitted.items);
            let SseItem::Event(event) = items.next().await.unwrap().unwrap() else { panic!("it is an event") };
            assert_eq!(SseVerdict::of_event(&event).unwrap().kind, VerdictKind::Overloaded);
            assert!(items.next().await.is_none());
        })
        .await;
        assert_eq!(model.calls(), 1);
    }
}

#[tokio::test]
async fn b81_a_head_and_nothing_more_for_ever_is_asked_for_so_many_times_with_pauses_between() {
    for wire in Wire::all() {
        for ending in [StreamEnding::Close, StreamEnding::End] {
            let script = StreamScript::new().wait(Duration::from_millis(20)).then(ending);
            let model = Model::streaming(wire, script).await;
            let began = Instant::now();
            let failure = model.whole(replacing(3)).await.unwrap_err();

            let end = if ending == StreamEnding::End { StreamEnd::Incomplete } else { StreamEnd::Dropped };
            assert_eq!((broken(&failure).reason, failure.is_exhausted()), (end, true));
            assert_eq!((model.calls(), failure.attempts()), (4, 4), "a head refills nothing");
            let pauses = pauses(&model);
            assert!(pauses.len() == 3 && pauses.iter().all(|pause| (GRACE / 2..=GRACE).contains(pause)), "{pauses:?}");
            assert!(began.elapsed() >= pauses.iter().sum::<Duration>(), "they were waited for: {:?}", began.elapsed());
        }
    }
}

fn pauses(model: &Model) -> Vec<Duration> {
    model.events.map(|event| match event {
        RecoveryEvent::RecoveryReplacementProposed { pause, .. } => Some(*pause),
        _ => None,
    })
}

#[tokio::test]
async fn b81_an_error_object_in_the_place_of_the_events_is_a_verdict() {
    for wire in Wire::all() {
        for ending in wire.cuts().into_iter().chain([StreamEnding::End]) {
            let script =
                StreamScript::new().send(r#"{"error": {"message": "no such model", "code": "model_not_found"}}"#);
            let model = Model::streaming(wire, script.then(ending)).await;
            let outcome = model.whole(replacing(3)).await;
            let whole = outcome.unwrap_or_else(|failure| panic!("{wire:?} {ending:?}: {failure:?}"));
            assert_eq!((whole.head.status, model.calls()), (StatusCode::OK, 1));
            let Some(SseItem::Raw(body)) = whole.items.last() else { panic!("{:?}", whole.items) };
            assert!(body.starts_with(b"{\"error\""));
        }
    }
}

#[tokio::test]
async fn b81_a_later_attempt_that_is_whole_ends_the_search() {
    for wire in Wire::all() {
        let empty = || StreamScript::new().then(StreamEnding::Close);
        let model = Model::streaming(wire, [empty(), empty(), complete(["1"])]).await;
        let whole = model.whole(replacing(3)).await.unwrap();
        assert_eq!((texts(&whole.items), model.calls()), (vec!["1".into(), "[DONE]".into()], 3));
    }
}
