//! Streams that are handed out as they come.

use std::pin::pin;

use futures_util::StreamExt;
use tower::ServiceExt;
use tower_recovery_http::sse::SseRules;

use super::{
    client::{Slow, door, get},
    live::{Live, MIB, within},
    server::{EVENT, EVENTS, LENGTH, Large},
};

/// A quarter of what is promised.
const LIMIT: usize = 16 * MIB;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_of_a_gibibyte_that_is_resumed_holds_next_to_none_of_it() {
    let live = Live::start().await;
    let cuts = [10 << 20, 300 << 20, 1, 200 << 20];
    let server = Large::start(cuts).await;
    let (position, report) = within(async {
        let admitted = door(&server).bodies().resumed().oneshot(get("/file")).await.expect("it begins");
        let (mut items, mut position, mut slow) = (pin!(admitted.items), 0, Slow::new());
        while let Some(frame) = items.next().await {
            let data = frame.expect("it is resumed").into_data().expect("there are no trailers");
            server.content.assert_at(position, &data);
            position += data.len() as u64;
            slow.read(position, &server).await;
        }
        slow.assert_done();
        (position, items.report())
    })
    .await;
    assert_eq!((position, report.attempts), (LENGTH, 5));
    // What the server had not written yet when it was cut off is lost.
    let parts = report.discarded.iter().map(|attempt| attempt.bytes);
    assert!(parts.zip(cuts).all(|(came, sent)| (sent - sent.min(MIB as u64)..=sent).contains(&came)), "{report:?}");
    live.assert_never_over(LIMIT, "resumed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_a_gibibyte_that_may_be_replaced_before_its_first_byte_is_not_held() {
    let live = Live::start().await;
    let server = Large::start([0]).await;
    let (position, report) = within(async {
        let admitted = door(&server).bodies().until_first_item().oneshot(get("/file")).await.expect("it begins");
        let (mut items, mut position, mut slow) = (pin!(admitted.items), 0, Slow::new());
        while let Some(frame) = items.next().await {
            let data = frame.expect("it is not cut").into_data().expect("there are no trailers");
            server.content.assert_at(position, &data);
            position += data.len() as u64;
            slow.read(position, &server).await;
        }
        slow.assert_done();
        (position, items.report())
    })
    .await;
    assert_eq!((position, report.attempts, report.discarded[0].bytes), (LENGTH, 2, 0));
    live.assert_never_over(LIMIT, "a body until its first item");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_a_gibibyte_that_may_be_replaced_before_the_first_are_not_held() {
    let live = Live::start().await;
    let server = Large::start([EVENT / 2]).await;
    let (events, report) = within(async {
        let door = door(&server).sse(SseRules::openai_chat()).until_first_item();
        let admitted = door.oneshot(get("/events")).await.expect("it begins");
        let (mut items, mut events, mut slow) = (pin!(admitted.items), 0, Slow::new());
        while let Some(item) = items.next().await {
            let event = item.expect("it is not cut").into_event().expect("nothing else is handed out");
            if event.data() == "[DONE]" {
                break;
            }
            assert_eq!(event.id(), Some(&*events.to_string()));
            assert_eq!(event.data().len() as u64, EVENT);
            server.content.assert_at(events * EVENT, event.data().as_bytes());
            events += 1;
            slow.read(events * EVENT, &server).await;
        }
        slow.assert_done();
        assert!(items.next().await.is_none(), "after the last one nothing comes");
        (events, items.report())
    })
    .await;
    assert_eq!((events, report.attempts, report.discarded[0].items), (EVENTS, 2, 0));
    live.assert_never_over(LIMIT, "events until the first");
}
