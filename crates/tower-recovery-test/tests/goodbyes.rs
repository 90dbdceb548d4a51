//! How an HTTP/1 connection comes to its end, or does not: abandoned, timed out, rejected at the head, frozen.

mod support;

use std::time::Duration;

use http::StatusCode;
use support::{Client, End, echo, within};
use tokio::time::Instant;
use tower_recovery_test::faulty::{Act, Until};

#[tokio::test]
async fn answer_then_abandon_answers_and_meets_the_next_request_with_a_reset() {
    within(async {
        let server = echo([Act::AnswerThenAbandon]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        assert_eq!(client.answer().await.body, b"book");
        server.wait_until_open(0).await;
        client.send("PUT", "8", "book").await;
        client.assert_reset_after_the_end().await;
        assert_eq!((server.executed("7"), server.executed("8")), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn answer_then_time_out_says_408_on_an_idle_connection_when_it_is_told_to() {
    within(async {
        let server = echo([Act::AnswerThenTimeOut { idle: Until::Thaw }; 2]).await;
        let mut idle = Client::sending(&server, "PUT", "1", "book").await;
        let mut crossing = Client::sending(&server, "PUT", "2", "book").await;
        for client in [&mut idle, &mut crossing] {
            let answer = client.answer().await;
            assert!(!answer.head.contains("connection"), "{}", answer.head);
            client.assert_silent();
        }
        crossing.send("PUT", "3", "book").await;
        assert_eq!(server.connections_timed_out(), 0);

        server.thaw();
        server.wait_until_timed_out(2).await;
        let goodbye = "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        for client in [idle, crossing] {
            assert_eq!(client.rest().await, (goodbye.to_owned(), End::Fin));
        }
        assert_eq!((server.requests_read(), server.executed("3")), (2, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn answer_then_time_out_may_wait_for_a_time() {
    within(async {
        let time = Duration::from_secs(60);
        let server = echo([Act::AnswerThenTimeOut { idle: Until::Elapsed(time) }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.answer().await;
        let answered = Instant::now();
        server.wait_until_timed_out(1).await;
        assert!(answered.elapsed() > time / 2);
        assert!(client.head().await.starts_with("HTTP/1.1 408 "));
    })
    .await;
}

#[tokio::test]
async fn answer_then_time_out_sees_that_the_client_has_gone_and_does_not_count_what_nobody_gets() {
    within(async {
        let server = echo([Act::AnswerThenTimeOut { idle: Until::Thaw }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.answer().await;
        drop(client);
        server.wait_until_open(0).await;
        server.thaw();
        let mut other = Client::sending(&server, "PUT", "2", "book").await;
        other.answer().await;
        assert_eq!(server.connections_timed_out(), 0);
    })
    .await;
}

#[tokio::test]
async fn reject_at_head_answers_and_reads_no_body_until_it_is_told_to_close() {
    within(async {
        let server = echo([Act::RejectAtHead { status: StatusCode::PAYLOAD_TOO_LARGE, unread: Until::Thaw }]).await;
        let mut client = Client::connect(&server).await;
        client.send_raw("PUT / HTTP/1.1\r\ncontent-length: 10000000\r\n\r\na part").await;
        let head = client.head().await;
        assert!(head.starts_with("HTTP/1.1 413 ") && head.contains("connection: close\r\n"), "{head}");
        // The server has ended its side, and its end of the connection is still there: this is no error.
        server.wait_until_open(0).await;
        client.send_raw("another part").await;

        server.thaw();
        client.assert_reset_soon().await;
        assert_eq!((server.requests_read(), server.requests_executed()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_frozen_connection_does_not_see_that_its_client_has_gone() {
    within(async {
        let server = echo([Act::RunThenFreezeConnection { until: Until::Thaw }]).await;
        let frozen = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        frozen.assert_silent();
        drop(frozen);
        let mut other = Client::sending(&server, "PUT", "2", "shelf").await;
        assert_eq!(other.answer().await.body, b"shelf");
        assert_eq!((server.executed("1"), server.connections_open()), (1, 2));
        server.thaw();
        server.wait_until_open(1).await;
    })
    .await;
}

#[tokio::test]
async fn freeze_connection_then_run_executes_and_answers_after_the_thaw() {
    within(async {
        let server = echo([Act::FreezeConnectionThenRun { until: Until::Thaw }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        assert_eq!(server.executed("1"), 0);
        server.thaw();
        assert_eq!(client.answer().await.body, b"book");
        assert_eq!((server.executed("1"), server.requests_held()), (1, 0));
    })
    .await;
}
