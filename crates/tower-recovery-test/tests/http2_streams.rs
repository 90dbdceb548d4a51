//! Streamed answers on HTTP/2: frame by frame, and whose client leaves.
#![cfg(feature = "http2")]

mod support;

use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::HeaderMap;
use support::{
    End,
    http2::{Client, Frame, connect, data, head, reset, start},
    within,
};
use tokio::time::Instant;
use tower_recovery_test::{
    Gate,
    faulty::{ErrorCode, FaultyServer, StreamEnd, StreamEnding, StreamScript, Streams},
};

async fn streaming(streams: impl Streams) -> FaultyServer {
    start(FaultyServer::builder().streams(streams)).await
}

async fn outcome(script: StreamScript) -> (Vec<Frame>, End) {
    within(async {
        let server = streaming(script).await;
        let client = Client::sending(&server, "GET", "7", "").await;
        let (frames, _, end) = client.rest().await;
        assert_eq!(server.executed("7"), 1);
        assert_eq!(server.streamed_answer(1).await.end(), Some(StreamEnd::Played));
        assert_eq!((server.streaming(), server.streams_left()), (0, 0));
        (frames, end)
    })
    .await
}

#[tokio::test]
async fn each_send_is_a_data_frame_and_an_empty_one_ends_the_stream() {
    within(async {
        let gate = Gate::new();
        let server = streaming(StreamScript::new().send_times("one", 2).wait_for(&gate).send("two")).await;
        let mut client = Client::sending(&server, "GET", "1", "").await;
        assert_eq!(client.next().await, [head(1), data(1, "one", false), data(1, "one", false)]);
        let answer = server.streamed_answer(1).await;
        assert_eq!((answer.sends(), answer.bytes_sent(), answer.end()), (2, 6, None));
        assert_eq!(answer.request().stream_id, Some(1));
        client.assert_silent();
        gate.open();
        assert_eq!(client.next().await, [data(1, "two", false), data(1, "", true)]);
        assert_eq!(answer.wait_until_ended().await, StreamEnd::Played);

        client.send("GET", "2", "").await;
        let [first, .., last] = client.next::<5>().await;
        assert_eq!((first, last), (head(3), data(3, "", true)));
        assert_eq!((server.connections_accepted(), server.requests_cancelled()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn the_head_waits_for_its_gate() {
    within(async {
        let gate = Gate::new();
        let server = streaming(StreamScript::new().head_behind(&gate).send("one")).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        let answer = server.streamed_answer(1).await;
        client.ping().await;
        assert_eq!(client.next().await, [Frame::PingAck]);
        assert_eq!((server.executed("7"), answer.end()), (1, None));
        gate.open();
        assert_eq!(client.next().await, [head(1), data(1, "one", false), data(1, "", true)]);
        answer.wait_until_head_sent().await;
    })
    .await;
}

#[tokio::test]
async fn a_close_and_a_reset_of_the_connection_end_no_stream() {
    let script = StreamScript::new().send("one").then(StreamEnding::Close);
    assert_eq!(outcome(script).await, (vec![head(1), data(1, "one", false)], End::Fin));
    within(async {
        let gate = Gate::new();
        let server = streaming(StreamScript::new().send("one").wait_for(&gate).then(StreamEnding::Reset)).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        assert_eq!(client.next().await, [head(1), data(1, "one", false)]);
        gate.open();
        let (frames, _, end) = client.rest().await;
        assert_eq!((frames, end), (Vec::new(), End::Reset));
    })
    .await;
}

#[tokio::test]
async fn a_reset_of_the_stream_has_the_code_that_was_chosen_and_comes_after_all_data() {
    within(async {
        for code in [ErrorCode::NO_ERROR, ErrorCode::CANCEL, ErrorCode::REFUSED_STREAM] {
            let server = streaming(StreamScript::new().send("one").then(StreamEnding::ResetStream { code })).await;
            let mut client = Client::sending(&server, "GET", "1", "").await;
            assert_eq!(client.next().await, [head(1), data(1, "one", false), reset(1, code)]);
            client.send("GET", "2", "").await;
            assert_eq!(client.next().await, [head(3), data(3, "one", false), reset(3, code)]);
            assert_eq!((server.connections_open(), server.streams_left()), (1, 0));
        }
    })
    .await;
}

#[tokio::test]
async fn a_good_client_sees_the_promised_length_and_the_trailers() {
    within(async {
        let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
        let server = streaming(StreamScript::new().content_length(6).send_times("one", 2).trailers(trailers)).await;
        let (client, _driving) = connect(&server).await;
        let request = http::Request::get("http://orders/").body(()).unwrap();
        let (answer, _) = client.ready().await.unwrap().send_request(request, true).unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.headers()["content-length"], "6");
        let mut body = answer.into_body();
        assert_eq!(body.data().await.unwrap().unwrap(), "one");
        assert_eq!(body.data().await.unwrap().unwrap(), "one");
        assert!(body.data().await.is_none());
        assert_eq!(body.trailers().await.unwrap().unwrap()["grpc-status"], "0");
    })
    .await;
}

#[tokio::test]
async fn a_promised_length_that_is_not_kept_is_an_error_of_the_protocol() {
    within(async {
        let server = streaming(StreamScript::new().content_length(7).send_times("one", 2)).await;
        let (client, _driving) = connect(&server).await;
        let request = http::Request::get("http://orders/").body(()).unwrap();
        let (answer, _) = client.ready().await.unwrap().send_request(request, true).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let error = loop {
            if let Err(error) = body.data().await.expect("the length is wrong") {
                break error;
            }
        };
        assert_eq!(error.reason(), Some(Reason::PROTOCOL_ERROR));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_carries_no_body_is_its_head() {
    within(async {
        let server = streaming(StreamScript::new().send("one").then(StreamEnding::Close)).await;
        let mut client = Client::sending(&server, "HEAD", "1", "").await;
        assert_eq!(client.next().await, [Frame::Head { stream: 1, ok: true, ends: true }]);
        assert_eq!(server.streamed_answer(1).await.wait_until_ended().await, StreamEnd::Played);
        assert_eq!(server.connections_open(), 1);
    })
    .await;
}

/// Some steps in which the server sends nothing, or not for long, and whether it sends a head before that.
fn waits() -> [(StreamScript, bool); 5] {
    let never = Gate::new();
    [
        (StreamScript::silent(), false),
        (StreamScript::new().then(StreamEnding::Silence), true),
        (StreamScript::new().wait_for(&never), true),
        (StreamScript::new().send_every(": ping\n\n", Duration::from_millis(20), &never), true),
        // Waits for the window.
        (StreamScript::new().send(vec![b'x'; 1 << 20]), true),
    ]
}

async fn assert_noticed(server: &FaultyServer, leaving: Instant) {
    let left = server.streamed_answer(1).await.wait_until_client_left().await;
    assert!(left - leaving < Duration::from_secs(1), "{:?}", left - leaving);
    server.wait_until_streams_left(1).await;
    assert_eq!((server.executed("1"), server.streams_left()), (1, 1));
}

#[tokio::test]
async fn a_client_that_resets_its_stream_is_noticed_in_every_wait_and_its_connection_goes_on() {
    for (script, sends_head) in waits() {
        within(async {
            let server = streaming([script]).await;
            let mut client = Client::sending(&server, "GET", "1", "").await;
            server.streamed_answer(1).await;
            if sends_head {
                assert_eq!(client.next().await, [head(1)]);
            }
            assert_eq!(server.streaming(), 1);
            let leaving = Instant::now();
            client.reset(1, ErrorCode::CANCEL).await;
            assert_noticed(&server, leaving).await;
            server.wait_until_streaming(0).await;
            assert_eq!((server.requests_cancelled(), server.connections_open()), (1, 1));

            client.send("GET", "2", "").await;
            let answer = Frame::Head { stream: 3, ok: true, ends: true };
            while client.next_of_all().await.unwrap() != answer {}
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_that_ends_its_connection_is_noticed_in_every_wait() {
    for (script, sends_head) in waits() {
        within(async {
            let server = streaming([script]).await;
            let mut client = Client::sending(&server, "GET", "1", "").await;
            server.streamed_answer(1).await;
            if sends_head {
                assert_eq!(client.next().await, [head(1)]);
            }
            let leaving = Instant::now();
            drop(client);
            assert_noticed(&server, leaving).await;
            server.wait_until_open(0).await;
            assert_eq!((server.streaming(), server.requests_cancelled()), (0, 0));
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_that_left_while_the_server_was_frozen_is_noticed_and_counted_once() {
    within(async {
        let server = streaming(StreamScript::silent()).await;
        server.freeze();
        let mut client = Client::sending(&server, "GET", "1", "").await;
        server.wait_until_held(1).await;
        client.reset(1, ErrorCode::CANCEL).await;
        server.wait_until_cancelled(1).await;
        server.thaw();
        server.streamed_answer(1).await.wait_until_client_left().await;
        assert_eq!((server.executed("1"), server.requests_cancelled()), (1, 1));
        client.ping().await;
        assert_eq!(client.next().await, [Frame::PingAck]);
    })
    .await;
}

#[tokio::test]
async fn a_stream_sends_what_the_window_allows_and_others_are_not_held_up() {
    within(async {
        let server = streaming([StreamScript::new().send_times("bookshelf", u64::MAX)]).await;
        let mut client = Client::sending(&server, "GET", "1", "").await;
        let answer = server.streamed_answer(1).await;
        // The window is 65,535 bytes at first.
        answer.wait_until_bytes_sent(65_529).await;
        let mut seen = 0;
        while seen < 65_535 {
            if let Frame::Data { data, .. } = client.next_of_all().await.unwrap() {
                seen += data.len();
            }
        }
        client.assert_silent();
        // The window of the connection is a matter of all streams.
        client.send_frame(8, 0, 0, &1000_u32.to_be_bytes()).await;
        client.send("HEAD", "2", "").await;
        assert_eq!(client.next().await, [Frame::Head { stream: 3, ok: true, ends: true }]);
        assert_eq!((seen, answer.bytes_sent()), (65_535, 65_529));
        client.send_frame(8, 0, 1, &3_u32.to_be_bytes()).await;
        assert_eq!(client.next().await, [data(1, "elf", false)]);
        assert_eq!(answer.bytes_sent(), 65_538);
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_sent_no_faster_than_it_is_read_whatever_the_window_is() {
    const PIECE: usize = 64 << 10;
    const TOTAL: usize = 256 << 20;
    /// More than the sockets of both sides hold.
    const AHEAD: usize = 24 << 20;
    within(async {
        let piece = Bytes::from(vec![b'x'; PIECE]);
        let script = StreamScript::new().send_times(piece, (TOTAL / PIECE).try_into().unwrap());
        let server = streaming(script).await;
        let mut client = Client::connect(&server).await;
        let window = u32::MAX >> 1;
        client.send_frame(4, 0, 0, &[&[0, 4], &window.to_be_bytes()[..]].concat()).await;
        client.send_frame(8, 0, 0, &(window - 65_535).to_be_bytes()).await;
        client.send("GET", "7", "").await;
        let answer = server.streamed_answer(1).await;
        let mut read = 0;
        loop {
            if let Frame::Data { data, ends, .. } = client.next_of_all().await.unwrap() {
                read += data.len();
                assert!(answer.bytes_sent() <= read + AHEAD, "{} sent, {read} read", answer.bytes_sent());
                if ends {
                    break;
                }
            }
        }
        assert_eq!((read, answer.bytes_sent()), (TOTAL, TOTAL));
    })
    .await;
}
