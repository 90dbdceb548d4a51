//! Streams that are kept alive.

use http::Request;
use http_body_util::Full;
use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::stream_replacement::StreamEnd;
use tower_recovery_http::sse::SseRules;
use tower_recovery_test::{Gate, faulty::StreamScript};

use super::support::{
    Chat, GRACE, HEALTH, IDLE, KEEP_ALIVE_IDLE, Model, Whole, Wire, bounded, broken, question, texts, watching,
};

const COMMENT: &str = ": ping\n\n";
/// A proxy passes on a part of a ping, and the rest of it with the next one.
const HALF: &str = "data: {\"type\": \"ping\"}\n\nevent: ping\n";
const EVENT: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
const WORD: &str = "event: content_block_delta\ndata: word\n\n";
const STOP: &str = "event: message_stop\ndata: {}\n\n";

fn messages(model: &Model, replacements: u32) -> Chat {
    let streams = model.door().streams(watching(replacements)).expect("the settings fit");
    streams.probe(|| Request::get(HEALTH).body(Full::default()).expect("a request")).sse(SseRules::anthropic())
}

async fn whole(model: &Model, replacements: u32) -> Whole {
    bounded(messages(model, replacements).whole(1 << 20).oneshot(question())).await
}

#[tokio::test]
async fn b77_pings_put_the_silence_off_and_are_never_content() {
    for wire in Wire::all() {
        for ping in [COMMENT, EVENT] {
            let enough = Gate::new();
            let script = StreamScript::new().send(WORD).send_every(ping, IDLE / 2, &enough).send(WORD).send(STOP);
            let model = Model::streaming(wire, script).await;
            let began = Instant::now();
            let (whole, ()) = tokio::join!(whole(&model, 1), async {
                let answer = bounded(model.server.streamed_answer(1)).await;
                // One word and then pings. Less than the larger ceiling, as long as the pings come in time.
                bounded(answer.wait_until_sends(1 + 5)).await;
                enough.open();
            });
            assert!(began.elapsed() >= IDLE * 5 / 2);
            assert_eq!(
                (texts(&whole.unwrap().items), model.calls()),
                (["word", "word", "{}"].map(Into::into).to_vec(), 1)
            );
        }
    }
}

#[tokio::test]
async fn b77_nothing_but_pings_for_ever_is_silence_of_another_kind() {
    for wire in Wire::all() {
        for ping in [COMMENT, EVENT, HALF] {
            let never = Gate::new();
            let model = Model::streaming(wire, StreamScript::new().send(WORD).send_every(ping, IDLE / 2, &never)).await;
            let began = Instant::now();
            let failure = whole(&model, 1).await.unwrap_err();
            assert!(began.elapsed() >= (KEEP_ALIVE_IDLE + GRACE) * 2 + GRACE / 2);
            assert_eq!((broken(&failure).reason, model.calls()), (StreamEnd::Silent, 2));
            // Where a ping comes late there is a silence more, which the next one ends.
            assert!(model.probes() >= 2);
            assert_eq!(broken(&failure).report.discarded[0].items, 1, "pings are not counted as content");
        }
    }
}
