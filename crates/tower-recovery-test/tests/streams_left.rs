//! Streams whose client leaves, whatever the server is at, and those that are faster than their client.

mod support;

use std::time::Duration;

use bytes::Bytes;
use support::{Client, streaming, within};
use tokio::time::Instant;
use tower_recovery_test::{
    Gate,
    faulty::{FaultyServer, StreamEnd, StreamEnding, StreamScript},
};

/// Some steps in which the server sends nothing, or not for long, and whether it sends a head and something else before that.
fn waits() -> [(StreamScript, bool); 5] {
    let never = Gate::new();
    let long = Duration::from_secs(1_000);
    [
        (StreamScript::silent(), false),
        (StreamScript::new().send("one").then(StreamEnding::Silence), true),
        (StreamScript::new().send("one").wait_for(&never), true),
        (StreamScript::new().send("one").wait(long), true),
        (StreamScript::new().send_every(": ping\n\n", Duration::from_millis(20), &never), true),
    ]
}

/// The server has noticed soon after this moment, and has nothing left of it.
async fn assert_noticed(server: &FaultyServer, leaving: Instant) {
    let answer = server.streamed_answer(1).await;
    let left = answer.wait_until_client_left().await;
    assert!(left - leaving < Duration::from_secs(1), "{:?}", left - leaving);
    assert_eq!(answer.end(), Some(StreamEnd::ClientLeft { at: left }));
    server.wait_until_streams_left(1).await;
    server.wait_until_streaming(0).await;
    server.wait_until_open(0).await;
    assert_eq!((server.executed("7"), server.streams_left()), (1, 1));
}

/// A client that knows that the server is at its step.
async fn client_of(server: &FaultyServer, sends: bool) -> Client {
    let mut client = Client::sending(server, "GET", "7", "").await;
    let answer = server.streamed_answer(1).await;
    if sends {
        answer.wait_until_sends(1).await;
        client.head().await;
        client.take().await;
    }
    assert_eq!((server.streaming(), answer.end()), (1, None));
    client
}

#[tokio::test]
async fn a_client_that_closes_is_noticed_in_every_wait() {
    for (script, sends) in waits() {
        within(async {
            let server = streaming(script).await;
            let client = client_of(&server, sends).await;
            let leaving = Instant::now();
            drop(client);
            assert_noticed(&server, leaving).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_that_resets_is_noticed_in_every_wait() {
    for (script, sends) in waits() {
        within(async {
            let server = streaming(script).await;
            let client = client_of(&server, sends).await;
            let leaving = Instant::now();
            client.reset();
            assert_noticed(&server, leaving).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_that_ends_its_side_has_left() {
    within(async {
        let server = streaming(StreamScript::new().send("one").then(StreamEnding::Silence)).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        client.text_up_to("one\r\n").await;
        let leaving = Instant::now();
        client.shut_down().await;
        assert_noticed(&server, leaving).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_that_it_does_not_read_is_noticed() {
    within(async {
        // No socket takes that much.
        let server = streaming(StreamScript::new().send(vec![b'x'; 64 << 20])).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        let answer = server.streamed_answer(1).await;
        client.head().await;
        let leaving = Instant::now();
        client.shut_down().await;
        let left = answer.wait_until_client_left().await;
        assert!(left - leaving < Duration::from_secs(1), "{:?}", left - leaving);
        assert_eq!(answer.bytes_sent(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_gibibyte_is_streamed_no_faster_than_it_is_read() {
    const PIECE: usize = 64 << 10;
    const TOTAL: usize = 1 << 30;
    /// More than the sockets of both sides hold.
    const AHEAD: usize = 24 << 20;
    within(async {
        let piece = Bytes::from(vec![b'x'; PIECE]);
        let script = StreamScript::new().close_delimited().send_times(piece, (TOTAL / PIECE).try_into().unwrap());
        let server = streaming(script).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        let answer = server.streamed_answer(1).await;
        client.head().await;
        let mut read = 0;
        loop {
            let taken = client.take().await;
            if taken == 0 {
                break;
            }
            read += taken;
            assert!(answer.bytes_sent() <= read + AHEAD, "{} sent, {read} read", answer.bytes_sent());
        }
        assert_eq!((read, answer.bytes_sent(), answer.sends()), (TOTAL, TOTAL, TOTAL / PIECE));
        assert_eq!(answer.end(), Some(StreamEnd::Played));
    })
    .await;
}

#[tokio::test]
async fn what_the_server_ends_itself_is_not_a_client_that_leaves() {
    within(async {
        let server = streaming(StreamScript::new().then(StreamEnding::Silence)).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        client.head().await;
        server.refuse().await;
        let answer = server.streamed_answer(1).await;
        assert_eq!(answer.end(), Some(StreamEnd::ConnectionEnded));
        assert_eq!((server.streaming(), server.streams_left()), (0, 0));
    })
    .await;
}

#[tokio::test]
#[should_panic = "the client was to leave, but the stream ended otherwise: Played"]
async fn who_waits_for_a_client_to_leave_is_told_if_it_never_will() {
    within(async {
        let server = streaming(StreamScript::new()).await;
        let _client = Client::sending(&server, "GET", "7", "").await;
        server.streamed_answer(1).await.wait_until_client_left().await;
    })
    .await;
}
