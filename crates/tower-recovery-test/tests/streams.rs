//! Streamed answers on HTTP/1: what is sent, and how it ends.

mod support;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use support::{Client, End, echoing, streaming, within};
use tokio::time::Instant;
use tower_recovery_test::{
    Gate,
    faulty::{Act, ErrorCode, FaultyServer, RequestContext, StreamEnd, StreamEnding, StreamScript},
};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// What one request gets, and how the connection ends.
async fn outcome(script: StreamScript) -> (String, End) {
    within(async {
        let server = streaming(script).await;
        let client = Client::sending(&server, "GET", "7", "").await;
        let seen = client.rest().await;
        assert_eq!(server.executed("7"), 1);
        assert_eq!(server.streamed_answer(1).await.end(), Some(StreamEnd::Played));
        assert_eq!((server.streaming(), server.streams_left()), (0, 0));
        seen
    })
    .await
}

#[tokio::test]
async fn each_send_is_a_chunk_and_the_last_one_keeps_the_connection() {
    within(async {
        let server = streaming(StreamScript::new().send("one").send("").send_times("seventeen letters", 2)).await;
        let mut client = Client::sending(&server, "GET", "1", "").await;
        let body = "3\r\none\r\n11\r\nseventeen letters\r\n11\r\nseventeen letters\r\n0\r\n\r\n";
        client.expect(&format!("{CHUNKED}{body}")).await;
        let answer = server.streamed_answer(1).await;
        assert_eq!(answer.wait_until_ended().await, StreamEnd::Played);
        assert_eq!((answer.sends(), answer.bytes_sent()), (3, 37));
        assert_eq!(answer.request().request_id, "1");

        client.send("GET", "2", "").await;
        client.expect(&format!("{CHUNKED}{body}")).await;
        client.assert_silent();
        server.wait_until_streaming(0).await;
        assert_eq!((server.connections_accepted(), server.streamed_answers().len()), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn the_head_is_the_applications_and_its_body_is_sent_where_a_step_says_so() {
    within(async {
        let application = |_: &http::Request<Bytes>| {
            let response = Response::builder().status(StatusCode::PARTIAL_CONTENT).header("etag", "7");
            response.header("content-length", "99").body(Bytes::from_static(b"bookshelf")).unwrap()
        };
        let script = StreamScript::new().send_answer(4).send("-").send_answer(usize::MAX).send_answer(1);
        let server = FaultyServer::builder().application(application).streams(script).start().await.unwrap();
        let mut client = Client::sending(&server, "GET", "7", "").await;
        client.expect("HTTP/1.1 206 Partial Content\r\netag: 7\r\ntransfer-encoding: chunked\r\n\r\n").await;
        client.expect("4\r\nbook\r\n1\r\n-\r\n5\r\nshelf\r\n0\r\n\r\n").await;
    })
    .await;
}

#[tokio::test]
async fn a_gate_lets_out_what_is_behind_it_and_nothing_before_that() {
    within(async {
        let [head, middle, end] = [Gate::new(), Gate::new(), Gate::new()];
        let script = StreamScript::new().head_behind(&head).wait_for(&middle).send("one").wait_for(&end);
        let server = streaming(script).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        let answer = server.streamed_answer(1).await;
        assert_eq!((server.executed("7"), server.streaming()), (1, 1));
        client.assert_silent();

        head.open();
        answer.wait_until_head_sent().await;
        client.expect(CHUNKED).await;
        client.assert_silent();

        middle.open();
        answer.wait_until_sends(1).await;
        client.expect("3\r\none\r\n").await;
        client.assert_silent();
        assert_eq!((answer.end(), answer.bytes_sent()), (None, 3));

        end.open();
        client.expect("0\r\n\r\n").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn times_pass_before_the_head_and_between_the_sends() {
    within(async {
        let [second, minute] = [Duration::from_secs(1), Duration::from_secs(60)];
        let server = streaming(StreamScript::new().head_delayed(second).send("one").wait(minute).send("two")).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        server.streamed_answer(1).await;
        let begun = Instant::now();
        client.expect(CHUNKED).await;
        assert!(begun.elapsed() >= second);
        client.expect("3\r\none\r\n").await;
        client.expect("3\r\ntwo\r\n").await;
        assert!(begun.elapsed() >= second + minute);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn keep_alives_come_at_their_pace_until_the_gate_opens() {
    within(async {
        let interval = Duration::from_millis(20);
        let gate = Gate::new();
        let server = streaming(StreamScript::new().send_every(": ping\n\n", interval, &gate).send("data")).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        client.expect(CHUNKED).await;
        let begun = Instant::now();
        for _ in 0..50 {
            client.expect("8\r\n: ping\n\n\r\n").await;
        }
        // The clock stands still but for the intervals: it has not run ahead of what was read by more than the sockets hold.
        assert!(begun.elapsed() >= 49 * interval, "{:?}", begun.elapsed());

        gate.open();
        let rest = client.text_up_to("0\r\n\r\n").await;
        let rest = rest.trim_start_matches("8\r\n: ping\n\n\r\n");
        assert_eq!(rest, "4\r\ndata\r\n0\r\n\r\n");
    })
    .await;
}

#[tokio::test]
async fn a_close_and_a_reset_come_without_a_last_chunk() {
    let script = StreamScript::new().send("one").then(StreamEnding::Close);
    assert_eq!(outcome(script).await, (format!("{CHUNKED}3\r\none\r\n"), End::Fin));
    for ending in [StreamEnding::Reset, StreamEnding::ResetStream { code: ErrorCode::NO_ERROR }] {
        within(async {
            let gate = Gate::new();
            let server = streaming(StreamScript::new().send("one").wait_for(&gate).then(ending)).await;
            let mut client = Client::sending(&server, "GET", "7", "").await;
            client.expect(&format!("{CHUNKED}3\r\none\r\n")).await;
            gate.open();
            assert_eq!(client.rest().await, (String::new(), End::Reset), "{ending:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn trailers_come_with_the_last_chunk() {
    within(async {
        let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
        let server = streaming(StreamScript::new().send("one").trailers(trailers)).await;
        let mut client = Client::sending(&server, "GET", "7", "").await;
        client.expect(&format!("{CHUNKED}3\r\none\r\n0\r\ngrpc-status: 0\r\n\r\n")).await;
        client.assert_silent();
    })
    .await;
}

#[tokio::test]
async fn a_promised_length_that_is_kept_keeps_the_connection_and_one_that_is_not_ends_it() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n";
    for ending in [StreamEnding::End, StreamEnding::Close] {
        let short = StreamScript::new().content_length(6).send("one").then(ending);
        assert_eq!(outcome(short).await, (format!("{head}one"), End::Fin));
    }
    let long = StreamScript::new().content_length(6).send_times("one", 3);
    assert_eq!(outcome(long).await, (format!("{head}oneoneone"), End::Fin));
    within(async {
        let server = streaming([StreamScript::new().content_length(6).send_times("one", 2)]).await;
        let mut client = Client::sending(&server, "GET", "1", "").await;
        client.expect(&format!("{head}oneone")).await;
        client.send("GET", "2", "").await;
        assert!(client.answer().await.body.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_body_that_the_close_delimits_says_so_and_has_no_framing() {
    let script = StreamScript::new().close_delimited().send("one");
    let seen = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\none";
    assert_eq!(outcome(script).await, (seen.to_owned(), End::Fin));
}

#[tokio::test]
async fn an_answer_that_carries_no_body_is_its_head() {
    within(async {
        let script = StreamScript::new().send("one").then(StreamEnding::Close);
        let server = streaming(script).await;
        let mut client = Client::sending(&server, "HEAD", "1", "").await;
        client.expect(CHUNKED).await;
        client.send("HEAD", "2", "").await;
        client.expect(CHUNKED).await;
        assert_eq!(server.streamed_answer(2).await.wait_until_ended().await, StreamEnd::Played);

        let no_content =
            |_: &http::Request<Bytes>| Response::builder().status(StatusCode::NO_CONTENT).body(Bytes::new()).unwrap();
        let script = StreamScript::new().close_delimited().send("one");
        let server = FaultyServer::builder().application(no_content).streams(script).start().await.unwrap();
        let mut client = Client::sending(&server, "GET", "3", "").await;
        client.expect("HTTP/1.1 204 No Content\r\n\r\n").await;
        client.assert_silent();
    })
    .await;
}

#[tokio::test]
async fn a_list_streams_the_requests_that_are_streamed_in_their_order() {
    within(async {
        let acts = [Act::Answer, Act::Stream, Act::RunThenClose, Act::Stream, Act::Stream];
        let scripts = ["one", "two"].map(|bytes| StreamScript::new().content_length(3).send(bytes));
        let server = echoing(acts).streams(scripts).start().await.unwrap();
        for (id, expected) in [("1", "book"), ("2", "one"), ("4", "two"), ("5", "book")] {
            if id == "4" {
                let client = Client::sending(&server, "PUT", "3", "book").await;
                assert_eq!(client.rest().await, (String::new(), End::Fin));
            }
            let mut client = Client::sending(&server, "PUT", id, "book").await;
            assert_eq!(client.answer().await.body, expected.as_bytes(), "{id}");
        }
        let streamed = server.streamed_answers();
        let ids: Vec<_> = streamed.iter().map(|answer| &*answer.request().request_id).collect();
        assert_eq!(ids, ["2", "4"]);
    })
    .await;
}

#[tokio::test]
async fn a_closure_streams_the_requests_that_it_has_a_script_for() {
    within(async {
        let decide = |request: &RequestContext| {
            (request.method == "GET").then(|| StreamScript::new().content_length(3).send("one"))
        };
        let server = echoing(|_: &RequestContext| Act::Stream).streams(decide).start().await.unwrap();
        for (method, expected) in [("GET", "one"), ("PUT", "book"), ("GET", "one")] {
            let mut client = Client::sending(&server, method, "7", "book").await;
            assert_eq!(client.answer().await.body, expected.as_bytes());
        }
        let without = echoing([Act::Stream]).start().await.unwrap();
        let mut client = Client::sending(&without, "PUT", "7", "book").await;
        assert_eq!(client.answer().await.body, b"book");
        assert!(without.streamed_answers().is_empty());
    })
    .await;
}
