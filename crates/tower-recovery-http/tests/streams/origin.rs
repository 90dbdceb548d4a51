//! What this was made for: a model's stream that its provider dropped. The seven tests that its makers wrote, on our stack.

use futures_util::StreamExt;
use http::StatusCode;
use http_body_util::BodyExt;
use tower::ServiceExt;
use tower_recovery::{
    RecoveryEvent, StreamMode, StreamPolicy,
    stream_replacement::{ReplacementBasis, StreamBroken, StreamEnd},
};
use tower_recovery_http::sse::{EventNotUtf8, EventTooLong, SseRules};
use tower_recovery_test::faulty::StreamScript;

use super::support::{Model, Wire, bounded, broken, complete, question, replacing, saying, texts};

/// Attempts that are dropped in the middle, and then one that is not.
async fn dropping(wire: Wire, drops: usize) -> Model {
    let dropped = || saying(["one", "two"]).then(wire.reset());
    let scripts = std::iter::repeat_with(dropped).take(drops).chain([complete(["1", "2"])]);
    Model::streaming(wire, scripts.collect::<Vec<_>>()).await
}

fn in_mode(mode: StreamMode) -> StreamPolicy {
    StreamPolicy::builder(mode).max_replacements(10).build().expect("in bounds")
}

#[tokio::test]
async fn a_dropped_stream_is_replaced_and_the_result_admitted() {
    for wire in Wire::all() {
        let model = dropping(wire, 1).await;
        let whole = model.whole(replacing(1)).await.unwrap();
        assert_eq!((texts(&whole.items), model.calls()), (["1", "2", "[DONE]"].map(Into::into).to_vec(), 2));
        let proposed = model.events.map(|event| match *event {
            RecoveryEvent::RecoveryReplacementProposed { basis, duplicate_server_work_possible, .. } => {
                Some((basis, duplicate_server_work_possible))
            }
            _ => None,
        });
        assert_eq!(proposed, [(ReplacementBasis::RetryableTransportFailure, true)]);
    }
}

#[tokio::test]
async fn the_budget_is_respected() {
    for wire in Wire::all() {
        for budget in [0, 1, 3] {
            let model = dropping(wire, 5).await;
            let failure = model.whole(replacing(budget)).await.unwrap_err();
            assert_eq!((model.calls(), failure.attempts()), (1 + budget as usize, 1 + budget));
            assert!(failure.is_exhausted());
            let exhausted = model.events.map(|event| match *event {
                RecoveryEvent::RecoveryExhausted { attempts, .. } => Some(attempts),
                _ => None,
            });
            assert_eq!(exhausted, [1 + budget]);
        }
    }
}

#[tokio::test]
async fn a_route_that_preserves_keeps_failing() {
    for wire in Wire::all() {
        let model = dropping(wire, 1).await;
        let failure = model.whole(in_mode(StreamMode::Preserve)).await.unwrap_err();
        assert_eq!((broken(&failure).reason, failure.is_exhausted()), (StreamEnd::Dropped, false));
        assert_eq!(model.calls(), 1);
    }
}

#[tokio::test]
async fn a_disabled_route_keeps_failing() {
    for wire in Wire::all() {
        let model = dropping(wire, 1).await;
        let failure = model.whole(in_mode(StreamMode::Disabled)).await.unwrap_err();
        assert!(failure.find::<StreamBroken>().is_none(), "it comes as it comes: {failure:?}");
        assert_eq!(model.calls(), 1);
    }
}

#[tokio::test]
async fn errors_that_are_not_retryable_are_not_replaced() {
    for wire in Wire::all() {
        let not_utf8 = || StreamScript::new().send(&b"data: \xff\n\n"[..]);
        let model = Model::streaming(wire, [not_utf8(), complete(["1"])]).await;
        let failure = model.whole(replacing(1)).await.unwrap_err();
        assert!(failure.find::<EventNotUtf8>().is_some() && failure.is_permanent());
        assert_eq!(model.calls(), 1);

        let model = Model::streaming(wire, [saying(["longer than that"]), complete(["1"])]).await;
        let streams = model.door().streams(replacing(1)).unwrap();
        let chat = streams.sse(SseRules::openai_chat().max_event_bytes(10).unwrap()).whole(1 << 20);
        let failure = bounded(chat.oneshot(question())).await.unwrap_err();
        assert!(failure.find::<EventTooLong>().is_some() && failure.is_permanent());
        assert_eq!(model.calls(), 1);
    }
}

#[tokio::test]
async fn a_503_of_the_provider_is_not_retried() {
    for wire in Wire::all() {
        let overloaded = |_: &http::Request<bytes::Bytes>| {
            http::Response::builder().status(503).body(bytes::Bytes::from_static(b"overloaded")).unwrap()
        };
        let script = StreamScript::new().send_answer(usize::MAX);
        let model = Model::start(wire, |server| server.application(overloaded).streams(script)).await;
        let whole = model.whole(replacing(1)).await.unwrap();
        assert_eq!((whole.head.status, model.calls()), (StatusCode::SERVICE_UNAVAILABLE, 1));
    }
}

#[tokio::test]
async fn a_route_without_a_policy_keeps_its_behaviour() {
    for wire in Wire::all() {
        let model = dropping(wire, 5).await;
        let today = model.door().build_streaming().unwrap().oneshot(question());
        let mut body = bounded(today).await.unwrap().into_body();
        let mut seen = Vec::new();
        let today = bounded(async {
            loop {
                match body.frame().await.expect("it is cut off") {
                    Ok(frame) => seen.extend_from_slice(frame.data_ref().unwrap()),
                    Err(failure) => return failure,
                }
            }
        })
        .await;
        assert_eq!(seen, b"data: one\n\ndata: two\n\n");

        let admitted =
            bounded(model.chat(StreamPolicy::default()).until_first_item().oneshot(question())).await.unwrap();
        let (items, failures): (Vec<_>, Vec<_>) =
            bounded(admitted.items.collect::<Vec<_>>()).await.into_iter().partition(Result::is_ok);
        assert_eq!(texts(&items.into_iter().map(Result::unwrap).collect::<Vec<_>>()), ["one", "two"]);
        let [Err(legacy)] = &failures[..] else { panic!("one failure ends it: {failures:?}") };
        assert_eq!((legacy.to_string(), legacy.verdict()), (today.to_string(), today.verdict()));
        assert_eq!((model.calls(), model.probes()), (2, 0));
    }
}
