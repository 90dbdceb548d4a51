//! The stream that a test feeds.

mod support;

use std::{error::Error, future::poll_fn, io, pin::Pin};

use futures_core::Stream;
use support::within;
use tokio::task::yield_now;
use tower::ServiceExt;
use tower_recovery_test::{BoxError, ScriptedService, ScriptedStream, Step};

async fn next<Item>(stream: &mut ScriptedStream<Item>) -> Option<Result<Item, BoxError>> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

/// An item that counts as an answer, and that cannot be cloned.
#[derive(Debug, PartialEq, Eq)]
struct Event(u8);

#[tokio::test]
async fn items_come_in_their_order_and_then_the_end() {
    within(async {
        let (handle, mut stream) = ScriptedStream::pair();
        handle.send(Event(1));
        handle.send(Event(2));
        assert_eq!(next(&mut stream).await.unwrap().unwrap(), Event(1));
        assert_eq!(next(&mut stream).await.unwrap().unwrap(), Event(2));
        handle.send(Event(3));
        handle.end();
        assert_eq!(next(&mut stream).await.unwrap().unwrap(), Event(3));
        assert!(next(&mut stream).await.is_none());
        assert_eq!(handle.polls(), 4);
    })
    .await;
}

#[tokio::test]
async fn who_waits_is_woken_by_an_item_by_an_error_and_by_the_end() {
    within(async {
        for last in ["end", "fail", "fail for ever"] {
            let (handle, mut stream) = ScriptedStream::pair();
            let reading = tokio::spawn(async move {
                let item = next(&mut stream).await.unwrap().unwrap();
                (item, next(&mut stream).await.map(|last| last.unwrap_err().to_string()))
            });
            handle.wait_until_polls(1).await;
            handle.send(Event(1));
            // One that has taken the item, and one that waits again.
            handle.wait_until_polls(3).await;
            assert!(!reading.is_finished());
            match last {
                "end" => handle.end(),
                "fail" => handle.fail(last),
                _ => handle.fail_for_ever(last),
            }
            let expected = (last != "end").then(|| last.to_owned());
            assert_eq!(reading.await.unwrap(), (Event(1), expected));
            assert_eq!(handle.polls(), 4);
        }
    })
    .await;
}

#[tokio::test]
async fn an_error_keeps_its_type() {
    within(async {
        let (handle, mut stream) = ScriptedStream::<Event>::pair();
        handle.fail(io::Error::from(io::ErrorKind::ConnectionReset));
        let error = next(&mut stream).await.unwrap().unwrap_err();
        let error: &(dyn Error + 'static) = &*error;
        assert_eq!(error.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionReset);
    })
    .await;
}

#[tokio::test]
#[should_panic = "a scripted stream was polled after its end"]
async fn to_poll_on_after_the_end_panics() {
    within(async {
        let mut stream = ScriptedStream::repeat(1, 0);
        assert!(next(&mut stream).await.is_none());
        next(&mut stream).await;
    })
    .await;
}

#[tokio::test]
#[should_panic = "a scripted stream was polled after its end"]
async fn to_poll_on_after_an_error_panics() {
    within(async {
        let (handle, mut stream) = ScriptedStream::<Event>::pair();
        handle.fail("reset");
        assert!(next(&mut stream).await.unwrap().is_err());
        next(&mut stream).await;
    })
    .await;
}

#[tokio::test]
async fn an_error_that_is_there_for_ever_comes_again_and_again() {
    within(async {
        let (handle, mut stream) = ScriptedStream::<Event>::pair();
        handle.fail_for_ever("reset");
        for _ in 0..1_000 {
            assert_eq!(next(&mut stream).await.unwrap().unwrap_err().to_string(), "reset");
        }
    })
    .await;
}

#[test]
#[should_panic = "nothing comes after the end of a scripted stream"]
fn to_send_something_after_the_end_panics() {
    let (handle, _stream) = ScriptedStream::pair();
    handle.end();
    handle.send(Event(1));
}

#[tokio::test]
async fn a_million_equal_items_are_ready_at_once() {
    within(async {
        let mut stream = ScriptedStream::repeat("data", 1_000_000);
        let handle = stream.handle();
        let mut items = 0;
        while let Some(item) = next(&mut stream).await {
            assert_eq!(item.unwrap(), "data");
            items += 1;
        }
        assert_eq!((items, handle.polls()), (1_000_000, 1_000_001));
    })
    .await;
}

#[tokio::test]
async fn equal_items_come_in_their_turn() {
    within(async {
        let (handle, mut stream) = ScriptedStream::pair();
        handle.send("first");
        handle.send_times("ping", 0);
        handle.send_times("ping", 2);
        handle.send("last");
        for expected in ["first", "ping", "ping", "last"] {
            assert_eq!(next(&mut stream).await.unwrap().unwrap(), expected);
        }
        assert!(!handle.is_dropped());
    })
    .await;
}

#[tokio::test]
async fn a_drop_is_seen_and_what_comes_late_is_lost() {
    within(async {
        let (handle, mut stream) = ScriptedStream::pair();
        let dropping = tokio::spawn({
            let handle = handle.clone();
            async move { handle.dropped().await }
        });
        handle.send(1);
        assert_eq!(next(&mut stream).await.unwrap().unwrap(), 1);
        yield_now().await;
        assert!(!handle.is_dropped() && !dropping.is_finished());
        drop(stream);
        assert!(handle.is_dropped());
        dropping.await.unwrap();
        handle.send(2);
        handle.end();
    })
    .await;
}

#[tokio::test]
async fn a_stream_without_a_handle_is_silent() {
    within(async {
        let (handle, mut stream) = ScriptedStream::pair();
        handle.send(1);
        drop(handle);
        assert_eq!(next(&mut stream).await.unwrap().unwrap(), 1);
        let handle = stream.handle();
        let reading = tokio::spawn(async move { next(&mut stream).await.unwrap().unwrap() });
        handle.wait_until_polls(2).await;
        assert!(!reading.is_finished());
        reading.abort();
        handle.dropped().await;
    })
    .await;
}

#[tokio::test]
async fn a_scripted_service_answers_with_streams() {
    within(async {
        let (first, dropped) = ScriptedStream::pair();
        let (second, whole) = ScriptedStream::pair();
        let service = ScriptedService::new([Step::answer_once((200, dropped)), Step::answer_once((201, whole))]);
        let (status, mut stream) = service.clone().oneshot("GET /1").await.unwrap();
        first.send(Event(1));
        assert_eq!((status, next(&mut stream).await.unwrap().unwrap()), (200, Event(1)));
        drop(stream);
        assert!(first.is_dropped() && !second.is_dropped());

        let (status, mut stream) = service.clone().oneshot("GET /2").await.unwrap();
        second.send(Event(2));
        assert_eq!((status, next(&mut stream).await.unwrap().unwrap()), (201, Event(2)));
    })
    .await;
}

#[tokio::test]
#[should_panic = "the answer was given already"]
async fn an_answer_that_is_given_once_is_not_given_twice() {
    within(async {
        let service = ScriptedService::new([Step::answer_once(Event(1))]);
        assert_eq!(service.clone().oneshot(()).await.unwrap(), Event(1));
        let _ = service.oneshot(()).await;
    })
    .await;
}
