//! How an HTTP/2 connection goes away, whole or in part.
#![cfg(feature = "http2")]

mod support;

use support::{
    End,
    http2::{Client, answer, echo, go_away},
    within,
};
use tower_recovery_test::faulty::{Act, ErrorCode, FaultyServer, GoAway, LastStream, RequestContext};

const NO_ERROR: ErrorCode = ErrorCode::NO_ERROR;

/// The second request of a connection gets the act; the others wait for a thaw with their answer.
async fn second(act: Act) -> FaultyServer {
    echo(move |request: &RequestContext| match request.number_on_connection {
        2 => act,
        _ => Act::RunThenFreeze,
    })
    .await
}

#[tokio::test]
async fn a_go_away_below_this_request_is_sent_without_running_it_and_then_comes_the_close() {
    within(async {
        let server = second(Act::ReadThenGoAway(GoAway::new(LastStream::BelowThis))).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        client.send("PUT", "2", "book").await;
        let (frames, _, end) = client.rest().await;
        assert_eq!((frames, end), (vec![go_away(1, NO_ERROR)], End::Fin));
        assert_eq!((server.executed("1"), server.executed("2"), server.requests_read()), (1, 0, 2));
    })
    .await;
}

#[tokio::test]
async fn a_go_away_below_the_first_request_names_no_stream() {
    within(async {
        let code = ErrorCode::ENHANCE_YOUR_CALM;
        let server = echo([Act::ReadThenGoAway(GoAway::new(LastStream::BelowThis).code(code))]).await;
        let client = Client::sending(&server, "PUT", "1", "book").await;
        let (frames, _, end) = client.rest().await;
        assert_eq!((frames, end, server.requests_executed()), (vec![go_away(0, code)], End::Fin, 0));
    })
    .await;
}

#[tokio::test]
async fn a_go_away_after_the_run_names_this_stream_and_is_no_answer() {
    within(async {
        let server = second(Act::RunThenGoAway(GoAway::new(LastStream::This))).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.send("PUT", "2", "book").await;
        let (frames, _, end) = client.rest().await;
        assert_eq!((frames, end), (vec![go_away(3, NO_ERROR)], End::Fin));
        assert_eq!((server.executed("1"), server.executed("2")), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn a_go_away_that_leaves_the_connection_open_answers_what_was_accepted_and_ignores_the_rest() {
    within(async {
        let server = second(Act::RunThenGoAway(GoAway::new(LastStream::This).stay_open())).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.send("PUT", "2", "shelf").await;
        let [notice] = client.next().await;
        assert_eq!(notice, go_away(3, NO_ERROR));
        assert_eq!(client.next().await, answer(3, "shelf"));

        client.send("PUT", "3", "late").await;
        client.ping().await;
        assert_eq!(client.next().await, [support::http2::Frame::PingAck]);
        client.assert_silent();
        server.thaw();
        assert_eq!(client.next().await, answer(1, "book"));
        client.ping().await;
        assert_eq!(client.next().await, [support::http2::Frame::PingAck]);
        assert_eq!((server.requests_read(), server.executed("3"), server.connections_open()), (2, 0, 1));
        drop(client);
        server.wait_until_open(0).await;
    })
    .await;
}

#[tokio::test]
async fn a_request_that_a_go_away_leaves_out_gets_no_word_though_the_connection_stays_open() {
    within(async {
        let server = second(Act::ReadThenGoAway(GoAway::new(LastStream::BelowThis).stay_open())).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, [go_away(1, NO_ERROR)]);
        server.thaw();
        assert_eq!(client.next().await, answer(1, "book"));
        client.ping().await;
        assert_eq!(client.next().await, [support::http2::Frame::PingAck]);
        client.assert_silent();
        assert_eq!(server.executed("2"), 0);
    })
    .await;
}

#[tokio::test]
async fn a_notice_of_a_shutdown_ignores_nothing() {
    within(async {
        let all = u32::MAX >> 1;
        let notice = GoAway::new(LastStream::Id(all)).stay_open();
        let server = echo([Act::RunThenGoAway(notice)]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        assert_eq!(client.next().await, [go_away(all, NO_ERROR)]);
        assert_eq!(client.next().await, answer(1, "book"));
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
    })
    .await;
}

#[tokio::test]
async fn what_was_not_run_when_the_connection_went_away_never_is() {
    within(async {
        let server = echo([Act::FreezeThenRun, Act::ReadThenGoAway(GoAway::new(LastStream::This))]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        client.send("PUT", "2", "book").await;
        assert_eq!(client.rest().await.0, [go_away(3, NO_ERROR)]);
        server.wait_until_open(0).await;
        server.thaw();
        server.refuse().await;
        assert_eq!((server.requests_executed(), server.requests_held()), (0, 0));
    })
    .await;
}
