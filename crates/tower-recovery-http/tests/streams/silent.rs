//! Streams that fall silent.

use std::time::Duration;

use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{
    RecoveryEvent, StreamMode, StreamPolicy,
    stream_replacement::{ReplacementBasis, StreamEnd},
};
use tower_recovery_test::faulty::{Act, FaultyServerBuilder, RequestContext, StreamEnding, StreamScript};

use super::support::{
    CHAT, GRACE, IDLE, Model, Wire, bounded, broken, complete, events_head, question, replacing, saying, texts,
    watching,
};

fn silence_after_two() -> StreamScript {
    saying(["one", "two"]).then(StreamEnding::Silence)
}

#[tokio::test]
async fn b75_a_stream_that_falls_silent_is_replaced() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [silence_after_two(), complete(["1", "2", "3"])]).await;
        let whole = model.whole(watching(1)).await.unwrap();
        assert_eq!(texts(&whole.items), ["1", "2", "3", "[DONE]"]);
        assert_eq!((model.calls(), model.probes()), (2, 1));
        assert_eq!(whole.report.discarded[0].basis, ReplacementBasis::HealthySideCallAndNoActivityThroughGrace);
        bounded(model.server.streamed_answers()[0].wait_until_client_left()).await;
    }
}

#[tokio::test]
async fn b75_silence_for_ever_ends_after_a_time_that_the_policy_tells() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, silence_after_two()).await;
        let policy = watching(2);
        let began = Instant::now();
        let failure = model.whole(policy).await.unwrap_err();
        let taken = began.elapsed();
        assert_eq!(broken(&failure).reason, StreamEnd::Silent);
        assert!(failure.is_exhausted());
        assert_eq!((model.calls(), model.probes(), failure.attempts()), (3, 3, 3));
        assert!((at_least(policy)..at_most(policy)).contains(&taken), "{taken:?} of {:?}", at_most(policy));
        bounded(model.server.wait_until_streams_left(3)).await;
    }
}

/// Each attempt is silent for its time and its grace, and there is a pause before each but the first.
fn at_least(policy: StreamPolicy) -> Duration {
    let silences = (policy.idle() + policy.recovery_grace()) * (1 + policy.max_replacements());
    let pauses: Duration = (1..=policy.max_replacements()).map(|attempt| policy.replacement_pause(attempt, 1.0)).sum();
    silences + pauses
}

/// The same with the whole time of each probe and of each pause.
fn at_most(policy: StreamPolicy) -> Duration {
    let probes = policy.probe_timeout() * (1 + policy.max_replacements());
    let pauses: Duration = (1..=policy.max_replacements()).map(|attempt| policy.replacement_pause(attempt, 0.0)).sum();
    (policy.idle() + policy.recovery_grace()) * (1 + policy.max_replacements()) + probes + pauses
}

#[tokio::test]
async fn b75_a_silent_stream_whose_route_answers_no_probe_ends_after_three_of_them_and_is_not_replaced() {
    let tenth = Duration::from_millis(100);
    let policy =
        StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).idle(IDLE).probe_interval(tenth).build().unwrap();
    for wire in Wire::all() {
        for (status, body) in [(503, ""), (200, r#"{"error": {"message": "Overloaded"}}"#)] {
            let script = |request: &RequestContext| if request.path == CHAT { Act::Stream } else { Act::Answer };
            let unhealthy = move |request: &http::Request<bytes::Bytes>| match request.uri().path() {
                CHAT => events_head(),
                _ => http::Response::builder().status(status).body(body.into()).expect("a response"),
            };
            let configured =
                |server: FaultyServerBuilder| server.application(unhealthy).script(script).streams(silence_after_two());
            let model = Model::start(wire, configured).await;
            let began = Instant::now();
            let failure = model.whole(policy).await.unwrap_err();
            assert_eq!((broken(&failure).reason, failure.is_exhausted()), (StreamEnd::Unreachable, false), "{body}");
            // The second probe comes an interval after the first, and the third two intervals after that.
            assert!(began.elapsed() >= IDLE + tenth * 3);
            assert_eq!((model.calls(), model.probes()), (1, 3));
        }
    }
}

#[tokio::test]
async fn b76_silence_before_the_head_counts_and_so_does_silence_after_it() {
    let head_and_silence = || StreamScript::new().then(StreamEnding::Silence);
    for wire in Wire::all() {
        for silent in [StreamScript::silent(), head_and_silence()] {
            let model = Model::streaming(wire, [silent, complete(["1"])]).await;
            let began = Instant::now();
            let whole = model.whole(watching(1)).await.unwrap();
            assert!(began.elapsed() >= IDLE + GRACE);
            assert_eq!((texts(&whole.items), model.calls()), (vec!["1".into(), "[DONE]".into()], 2));
        }
    }
}

#[tokio::test]
async fn b76_every_kind_of_silence_and_every_break_spend_one_budget() {
    for wire in Wire::all() {
        let scripts = [
            StreamScript::silent(),
            StreamScript::new().then(StreamEnding::Silence),
            saying(["one"]).then(wire.reset()),
            silence_after_two(),
            complete(["never asked for"]),
        ];
        let model = Model::streaming(wire, scripts).await;
        let failure = model.whole(watching(3)).await.unwrap_err();
        assert_eq!((broken(&failure).reason, model.calls()), (StreamEnd::Silent, 4), "1 + K, and not K + K");
        let bases: Vec<_> = broken(&failure).report.discarded.iter().map(|attempt| attempt.basis).collect();
        let (silent, failed) =
            (ReplacementBasis::HealthySideCallAndNoActivityThroughGrace, ReplacementBasis::RetryableTransportFailure);
        assert_eq!(bases, [silent, silent, failed]);
    }
}

#[tokio::test]
async fn b82_what_ends_a_silent_attempt_does_not_end_its_replacement() {
    let tenth = Duration::from_millis(100);
    for wire in Wire::all() {
        let slow = saying([]).wait(tenth).send("data: 1\n\n").wait(tenth).send("data: 2\n\n").wait(tenth);
        let model = Model::streaming(wire, [silence_after_two(), slow.send("data: [DONE]\n\n")]).await;
        let whole = model.whole(watching(1)).await.unwrap();
        assert_eq!((texts(&whole.items), model.calls()), (vec!["1".into(), "2".into(), "[DONE]".into()], 2));
        let proposed =
            model.events.map(|event| matches!(event, RecoveryEvent::RecoveryReplacementProposed { .. }).then_some(()));
        assert_eq!(proposed.len(), 1);
    }
}

#[tokio::test]
async fn a_deadline_of_the_stack_bounds_an_attempt_up_to_its_head_and_not_its_stream() {
    let deadline = Duration::from_secs(1);
    for wire in Wire::all() {
        let slow = saying(["1"]).wait(deadline + GRACE).send("data: [DONE]\n\n");
        let model = Model::streaming(wire, [StreamScript::silent(), slow]).await;
        let chat = model.chat_through(model.door().deadline(deadline).attempts(1), replacing(1));
        let began = Instant::now();
        let whole = bounded(chat.whole(1 << 20).oneshot(question())).await.unwrap();
        // A single attempt has nine tenths of the deadline, up to its head; the stream takes longer than the whole of it.
        assert!(began.elapsed() >= deadline.mul_f64(0.9) + deadline + GRACE);
        assert_eq!((texts(&whole.items), model.calls(), model.probes()), (vec!["1".into(), "[DONE]".into()], 2, 0));
        assert_eq!(whole.report.discarded[0].basis, ReplacementBasis::RetryableTransportFailure);
    }
}
