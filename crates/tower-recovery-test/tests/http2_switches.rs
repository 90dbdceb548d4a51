//! The switches of the server, its limits, and whole connections that freeze, on HTTP/2.
#![cfg(feature = "http2")]

mod support;

use support::{
    End, echoing,
    http2::{Client, Frame, answer, echo, reset, start},
    within,
};
use tower_recovery_test::{
    Gate,
    faulty::{Act, ConnectionAct, ErrorCode, RequestContext, Until},
};

#[tokio::test]
async fn requests_of_one_connection_run_at_once_and_the_script_knows_their_numbers() {
    within(async {
        let server = echo(|request: &RequestContext| {
            let stream = 2 * u32::try_from(request.number_on_connection).unwrap() - 1;
            assert_eq!(request.stream_id, Some(stream));
            let connection = if request.number <= 3 { 1 } else { 2 };
            assert_eq!((request.connection, request.path.as_str()), (connection, "/orders"));
            match request.number_on_connection {
                1 => Act::RunThenFreeze,
                _ => Act::Answer,
            }
        })
        .await;
        let mut first = Client::sending(&server, "PUT", "1", "book").await;
        for (id, stream) in [("2", 3), ("3", 5)] {
            first.send("PUT", id, "shelf").await;
            assert_eq!(first.next().await, answer(stream, "shelf"));
        }
        let _second = Client::sending(&server, "PUT", "4", "book").await;
        server.wait_until_executed(4).await;
        assert_eq!((server.connections_accepted(), server.requests_read()), (2, 4));
        assert!(server.executed_twice().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_frozen_server_reads_and_acknowledges_and_a_thaw_executes_and_answers() {
    within(async {
        let server = echo([]).await;
        server.freeze();
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.send("PUT", "2", "shelf").await;
        server.wait_until_held(2).await;
        client.ping().await;
        assert_eq!(client.next().await, [Frame::PingAck]);
        client.assert_silent();
        assert_eq!((server.requests_read(), server.requests_executed()), (2, 0));

        server.thaw();
        let both = [answer(1, "book"), answer(3, "shelf")];
        assert_eq!(client.next_by_stream::<4>().await, both.concat());
        assert_eq!((server.requests_executed(), server.requests_held()), (2, 0));
    })
    .await;
}

#[tokio::test]
async fn a_freeze_holds_what_a_script_would_have_refused() {
    within(async {
        let reject = Act::RejectAtHead { status: http::StatusCode::PAYLOAD_TOO_LARGE, unread: Until::Never };
        let server = echo([Act::RefuseStream, reject]).await;
        server.freeze();
        let mut client = Client::connect(&server).await;
        let refused = client.send_head("PUT", "1").await;
        let rejected = client.send_head("PUT", "2").await;
        server.wait_until_held(2).await;
        client.ping().await;
        assert_eq!(client.next().await, [Frame::PingAck]);
        client.assert_silent();
        server.thaw();
        let frames =
            [reset(refused, ErrorCode::REFUSED_STREAM), Frame::Head { stream: rejected, ok: false, ends: true }];
        assert_eq!(client.next_by_stream::<2>().await, frames);
    })
    .await;
}

#[tokio::test]
async fn a_refusing_server_resets_its_connections_and_never_executes_what_it_held() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        let client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        server.refuse().await;
        assert_eq!((server.connections_open(), server.requests_held()), (0, 0));
        assert_eq!(client.rest().await.2, End::Reset);

        server.thaw();
        server.accept_again().unwrap();
        let mut client = Client::sending(&server, "PUT", "2", "book").await;
        assert_eq!(client.next().await, answer(1, "book"));
        assert_eq!((server.executed("1"), server.executed("2")), (0, 1));
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_freezes_after_the_run_is_silent_and_others_are_served() {
    within(async {
        let server = echo([Act::RunThenFreezeConnection { until: Until::Thaw }]).await;
        let mut frozen = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        let mut other = Client::sending(&server, "PUT", "2", "shelf").await;
        assert_eq!(other.next().await, answer(1, "shelf"));

        while frozen.take_what_has_come().is_some() {}
        frozen.ping().await;
        frozen.send("PUT", "3", "late").await;
        other.send("PUT", "4", "light").await;
        assert_eq!(other.next().await, answer(3, "light"));
        frozen.assert_silent();
        assert_eq!((server.executed("1"), server.requests_read(), server.connections_open()), (1, 3, 2));

        server.thaw();
        let frames: [Frame; 5] = frozen.next().await;
        assert!(frames.contains(&Frame::PingAck));
        for frame in answer(1, "book").iter().chain(&answer(3, "late")) {
            assert!(frames.contains(frame), "{frame:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_freezes_before_the_run_executes_after_the_thaw_only() {
    within(async {
        let server = echo([Act::FreezeConnectionThenRun { until: Until::Thaw }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        while client.take_what_has_come().is_some() {}
        client.ping().await;
        let mut other = Client::sending(&server, "PUT", "2", "shelf").await;
        assert_eq!(other.next().await, answer(1, "shelf"));
        client.assert_silent();
        assert_eq!((server.executed("1"), server.requests_held()), (0, 1));

        server.thaw();
        let frames: [Frame; 3] = client.next().await;
        for frame in answer(1, "book").iter().chain([&Frame::PingAck]) {
            assert!(frames.contains(frame), "{frame:?}");
        }
        assert_eq!(server.executed("1"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_frozen_for_ever_does_not_see_its_clients_end_and_ends_with_a_refusal() {
    within(async {
        let server = echo([Act::RunThenFreezeConnection { until: Until::Never }]).await;
        let client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        server.thaw();
        drop(client);
        let mut other = Client::sending(&server, "PUT", "2", "shelf").await;
        assert_eq!(other.next().await, answer(1, "shelf"));
        assert_eq!(server.connections_open(), 2);
        server.refuse().await;
        assert_eq!(server.connections_open(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_frozen_at_its_acceptance_is_served_after_the_thaw() {
    within(async {
        let builder = echoing([]).at_accept(|_| ConnectionAct::FreezeAtAccept { until: Until::Thaw });
        let server = start(builder).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_connections(1).await;
        client.assert_silent();
        server.thaw();
        assert_eq!(client.next().await, answer(1, "book"));
    })
    .await;
}

#[tokio::test]
async fn streams_above_the_limit_are_refused_though_the_client_has_not_seen_the_settings() {
    within(async {
        let gate = Gate::new();
        let server = start(echoing([]).max_concurrent_streams(2).settings_behind(&gate)).await;
        server.freeze();
        let mut client = Client::connect(&server).await;
        for number in 1..=6 {
            client.send("POST", &number.to_string(), "").await;
        }
        server.wait_until_held(2).await;
        server.wait_until_refused(4).await;
        client.assert_silent();
        assert_eq!((server.requests_read(), server.streams_refused()), (2, 4));

        gate.open();
        assert_eq!(client.next_of_all().await, Ok(Frame::Settings));
        let refused = [5, 7, 9, 11].map(|stream| reset(stream, ErrorCode::REFUSED_STREAM));
        assert_eq!(client.next().await, refused);
        server.thaw();
        let whole = [1, 3].map(|stream| Frame::Head { stream, ok: true, ends: true });
        assert_eq!(client.next_by_stream::<2>().await, whole);
        client.send("POST", "7", "shelf").await;
        assert_eq!(client.next().await, answer(13, "shelf"));
        assert_eq!((server.requests_executed(), server.executed("3")), (3, 0));
    })
    .await;
}

#[tokio::test]
async fn what_is_not_http2_ends_the_connection() {
    within(async {
        let server = echo([]).await;
        let client = support::Client::sending(&server, "PUT", "1", "book").await;
        client.rest().await;
        server.wait_until_open(0).await;
        assert_eq!(server.requests_read(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_body_above_the_limit_ends_the_connection_unexecuted() {
    within(async {
        let server = start(echoing([]).body_limit(4)).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        assert_eq!(client.next().await, answer(1, "book"));
        client.send("PUT", "2", "books").await;
        let (frames, _, end) = client.rest().await;
        assert_eq!((frames, end), (vec![], End::Fin));
        assert_eq!((server.requests_read(), server.executed("2")), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn an_application_that_panics_ends_its_connection_and_counts_as_executed() {
    within(async {
        let application = |request: &http::Request<bytes::Bytes>| {
            assert!(!request.body().is_empty(), "panics on purpose");
            http::Response::new(request.body().clone())
        };
        let server = start(echoing([]).application(application)).await;
        let client = Client::sending(&server, "PUT", "1", "").await;
        assert_eq!(client.rest().await.0, []);
        server.wait_until_executed(1).await;
        server.wait_until_open(0).await;
        let mut client = Client::sending(&server, "PUT", "2", "book").await;
        assert_eq!(client.next().await, answer(1, "book"));
        assert_eq!((server.executed("1"), server.executed("2")), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_be_frozen_for_a_time() {
    within(async {
        let time = std::time::Duration::from_secs(60);
        let server = echo([Act::FreezeConnectionThenRun { until: Until::Elapsed(time) }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        let held = tokio::time::Instant::now();
        assert_eq!(client.next().await, answer(1, "book"));
        assert!(held.elapsed() > time / 2);
    })
    .await;
}

#[tokio::test]
async fn headers_of_an_http1_connection_are_left_out_and_the_length_is_the_servers() {
    within(async {
        let application = |_: &http::Request<bytes::Bytes>| {
            let response = http::Response::builder().header("connection", "close").header("content-length", "99");
            response.body(bytes::Bytes::from_static(b"book")).unwrap()
        };
        let server = start(echoing([]).application(application)).await;
        let mut client = Client::sending(&server, "PUT", "1", "").await;
        assert_eq!(client.next().await, answer(1, "book"));
        client.send("PUT", "2", "").await;
        assert_eq!(client.next().await, answer(3, "book"));
    })
    .await;
}
