//! Readers that have gone.

use std::{pin::pin, time::Duration};

use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;
use tower_recovery::{RecoveryEvent, StreamMode, StreamPolicy};
use tower_recovery_test::faulty::{StreamEnding, StreamScript};

use super::support::{Model, Wire, bounded, complete, question, replacing, saying};

const SOON: Duration = Duration::from_millis(100);

#[tokio::test]
async fn b83_the_server_sees_soon_that_the_reader_of_a_silent_stream_has_gone() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, saying(["one"]).then(StreamEnding::Silence)).await;
        let chat = model.chat(replacing(1)).until_first_item();
        let mut items = Box::pin(bounded(chat.oneshot(question())).await.unwrap().items);
        assert!(bounded(items.next()).await.unwrap().is_ok());
        // It parks on the silent stream, as a reader would.
        assert!(items.next().now_or_never().is_none());

        let dropped = Instant::now();
        drop(items);
        let answer = &model.server.streamed_answers()[0];
        let noticed = bounded(answer.wait_until_client_left()).await;
        assert!(noticed - dropped < SOON, "{wire:?}: {:?}", noticed - dropped);
        if wire == Wire::Http1 {
            bounded(model.server.wait_until_open(0)).await;
        }
        assert_eq!((model.calls(), model.server.connections_accepted()), (1, 1));
    }
}

#[tokio::test]
async fn b83_the_server_sees_soon_that_the_caller_has_gone_before_the_head_or_before_the_end() {
    for wire in Wire::all() {
        for script in [StreamScript::silent(), saying(["one"]).then(StreamEnding::Silence)] {
            let model = Model::streaming(wire, script).await;
            let call = tokio::spawn(model.chat(replacing(1)).whole(1 << 20).oneshot(question()));
            let answer = bounded(model.server.streamed_answer(1)).await;
            let dropped = Instant::now();
            call.abort();
            let noticed = bounded(answer.wait_until_client_left()).await;
            assert!(noticed - dropped < SOON, "{wire:?}: {:?}", noticed - dropped);
            assert_eq!(model.calls(), 1);
        }
    }
}

#[tokio::test]
async fn b83_no_task_outlives_the_reader_and_its_connection() {
    let model = Model::streaming(Wire::Http1, saying(["one"]).then(StreamEnding::Silence)).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let chat = model.chat(replacing(1)).until_first_item();
    let before = tasks();
    let admitted = bounded(chat.oneshot(question())).await.unwrap();
    assert!(tasks() > before, "the connection has its tasks");
    drop(admitted);
    bounded(async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn b83_nothing_starts_after_a_drop_between_two_attempts() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one"]).then(wire.reset()), complete(["1"])]).await;
        let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).build().unwrap();
        let proposed = |event: &RecoveryEvent| matches!(event, RecoveryEvent::RecoveryReplacementProposed { .. });
        bounded(async {
            let mut call = pin!(model.chat(policy).whole(1 << 20).oneshot(question()));
            tokio::select! {
                _ = &mut call => panic!("there is a pause before the replacement"),
                () = model.events.wait_for(proposed) => {}
            }
        })
        .await;
        // Nothing is left that the clock could move.
        tokio::time::pause();
        sleep(Duration::from_secs(3600)).await;
        tokio::time::resume();
        assert_eq!((model.calls(), model.server.connections_accepted()), (1, 1), "{wire:?}");
    }
}

#[tokio::test]
async fn b83_a_stream_that_is_dropped_between_two_attempts_starts_nothing_either() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one"]).then(wire.reset()), complete(["1"])]).await;
        // A pause of two and a half to five seconds.
        let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).build().unwrap();
        bounded(async {
            let admitted = model.chat(policy).marked().oneshot(question()).await.unwrap();
            let mut items = Box::pin(admitted.items);
            assert!(items.next().await.unwrap().is_ok());
            let proposed = |event: &RecoveryEvent| matches!(event, RecoveryEvent::RecoveryReplacementProposed { .. });
            tokio::select! {
                _ = items.next() => panic!("there is a pause before the replacement"),
                () = model.events.wait_for(proposed) => {}
            }
        })
        .await;
        tokio::time::pause();
        sleep(Duration::from_secs(3600)).await;
        tokio::time::resume();
        assert_eq!(model.calls(), 1, "{wire:?}");
    }
}
