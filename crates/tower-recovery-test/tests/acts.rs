//! Each act, as the client sees it on the wire and as the log tells it.

mod support;

use std::time::Duration;

use support::{Client, End, echo, within};
use tokio::time::Instant;
use tower_recovery_test::faulty::{
    Act, ConnectionAct, ErrorCode, FaultyServer, GoAway, LastStream, RequestContext, Script,
};

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbook";

/// Sends one request and gives what came back, how it ended, and how often it was executed.
async fn outcome(act: Act) -> (String, End, usize) {
    within(async {
        let server = echo([act]).await;
        let client = Client::sending(&server, "PUT", "7", "book").await;
        let (seen, end) = client.rest().await;
        assert_eq!(server.requests_read(), 1);
        assert_eq!(server.requests_executed(), server.executed("7"));
        (seen, end, server.executed("7"))
    })
    .await
}

#[tokio::test]
async fn read_then_close_executes_nothing_and_ends_in_order() {
    let seen = outcome(Act::ReadThenClose).await;
    assert_eq!(seen, (String::new(), End::Fin, 0));
}

#[tokio::test]
async fn read_then_reset_executes_nothing_and_resets() {
    let seen = outcome(Act::ReadThenReset).await;
    assert_eq!(seen, (String::new(), End::Reset, 0));
}

#[tokio::test]
async fn run_then_close_executes_and_sends_no_byte() {
    let seen = outcome(Act::RunThenClose).await;
    assert_eq!(seen, (String::new(), End::Fin, 1));
}

#[tokio::test]
async fn run_then_reset_executes_and_resets() {
    let seen = outcome(Act::RunThenReset).await;
    assert_eq!(seen, (String::new(), End::Reset, 1));
}

#[tokio::test]
async fn partial_head_sends_a_part_of_the_head() {
    let (seen, end, executed) = outcome(Act::PartialHead).await;
    assert!(!seen.is_empty() && !seen.contains("\r\n\r\n"));
    assert!(WHOLE.starts_with(&seen));
    assert_eq!((end, executed), (End::Fin, 1));
}

#[tokio::test]
async fn partial_body_promises_all_and_sends_a_part() {
    let (seen, end, executed) = outcome(Act::PartialBody { sent: 3 }).await;
    assert_eq!(seen, WHOLE.strip_suffix('k').unwrap());
    assert_eq!((end, executed), (End::Fin, 1));
}

#[tokio::test]
async fn partial_body_of_nothing_sends_the_head() {
    let (seen, end, executed) = outcome(Act::PartialBody { sent: 0 }).await;
    assert_eq!(seen, WHOLE.strip_suffix("book").unwrap());
    assert_eq!((end, executed), (End::Fin, 1));
}

#[tokio::test]
async fn partial_body_longer_than_the_body_is_incomplete_still() {
    let (seen, end, executed) = outcome(Act::PartialBody { sent: 4 }).await;
    assert_eq!(seen, WHOLE.replace(": 4", ": 5"));
    assert_eq!((end, executed), (End::Fin, 1));
}

#[tokio::test]
async fn partial_body_then_reset_sends_a_part_and_resets() {
    let (seen, end, executed) = outcome(Act::PartialBodyThenReset { sent: 2 }).await;
    assert_eq!(seen, WHOLE.strip_suffix("ok").unwrap());
    assert_eq!((end, executed), (End::Reset, 1));
}

#[tokio::test]
async fn answer_then_close_answers_and_does_not_announce_the_close() {
    let (seen, end, executed) = outcome(Act::AnswerThenClose).await;
    assert_eq!(seen, WHOLE);
    assert_eq!((end, executed), (End::Fin, 1));
}

#[tokio::test]
async fn answer_keeps_the_connection() {
    within(async {
        let server = echo([Act::Answer]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        assert_eq!(client.answer().await.body, b"book");
        client.assert_silent();
        client.send("PUT", "8", "shelf").await;
        assert_eq!(client.answer().await.body, b"shelf");
        assert_eq!(server.connections_accepted(), 1);
        assert_eq!((server.executed("7"), server.executed("8")), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn run_then_freeze_executes_and_answers_after_the_thaw() {
    within(async {
        let server = echo([Act::RunThenFreeze]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        server.wait_until_executed(1).await;
        assert_eq!((server.executed("7"), server.requests_held()), (1, 0));
        client.assert_silent();

        server.thaw();
        assert_eq!(client.answer().await.body, b"book");
        assert_eq!(server.executed("7"), 1);
    })
    .await;
}

#[tokio::test]
async fn freeze_then_run_executes_after_the_thaw_and_answers() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        server.wait_until_held(1).await;
        assert_eq!((server.executed("7"), server.requests_held()), (0, 1));
        client.assert_silent();

        server.thaw();
        assert_eq!(client.answer().await.body, b"book");
        assert_eq!((server.executed("7"), server.requests_held()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn freeze_then_run_executes_for_a_client_that_is_gone() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        drop(Client::sending(&server, "PUT", "7", "book").await);
        server.wait_until_held(1).await;
        server.wait_until_open(0).await;
        assert_eq!(server.executed("7"), 0);

        server.thaw();
        server.wait_until_executed(1).await;
        assert_eq!(server.executed("7"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn slow_executes_at_once_and_answers_after_the_delay() {
    within(async {
        let delay = Duration::from_secs(3);
        let server = echo([Act::Slow { delay }]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        server.wait_until_executed(1).await;
        let executed = Instant::now();
        assert_eq!(server.executed("7"), 1);
        client.assert_silent();

        assert_eq!(client.answer().await.body, b"book");
        assert!(executed.elapsed() >= delay);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn slow_then_run_executes_after_the_delay() {
    within(async {
        let delay = Duration::from_secs(3);
        let server = echo([Act::SlowThenRun { delay }]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        server.wait_until_read(1).await;
        let read = Instant::now();
        assert_eq!(server.executed("7"), 0);

        server.wait_until_executed(1).await;
        assert!(read.elapsed() >= delay);
        assert_eq!(client.answer().await.body, b"book");
        assert_eq!(server.executed("7"), 1);
    })
    .await;
}

#[tokio::test]
async fn acts_that_only_http2_has_do_their_best_on_http1() {
    let code = ErrorCode::NO_ERROR;
    let gone = GoAway::new(LastStream::This);
    let part = WHOLE.strip_suffix("ok").unwrap();
    for (act, expected) in [
        (Act::RefuseStream, ("", End::Reset, 0)),
        (Act::ReadThenResetStream { code }, ("", End::Reset, 0)),
        (Act::RunThenResetStream { code }, ("", End::Reset, 1)),
        (Act::PartialBodyThenResetStream { sent: 2, code }, (part, End::Reset, 1)),
        (Act::ReadThenGoAway(gone), ("", End::Fin, 0)),
        (Act::RunThenGoAway(gone), ("", End::Fin, 1)),
        (Act::RunThenGoAway(gone.stay_open()), (WHOLE, End::Fin, 1)),
    ] {
        let (seen, end, executed) = outcome(act).await;
        assert_eq!((seen.as_str(), end, executed), expected, "{act:?}");
    }
}

#[tokio::test]
async fn a_handshake_is_cut_without_tls_too_once_the_client_has_sent_something() {
    for (act, expected) in [(ConnectionAct::CutHandshake, End::Fin), (ConnectionAct::ResetHandshake, End::Reset)] {
        within(async {
            let server = connections(act).await;
            let mut client = Client::connect(&server).await;
            server.wait_until_connections(1).await;
            client.assert_silent();
            client.send("PUT", "7", "book").await;
            assert_eq!(client.rest().await, (String::new(), expected));
            assert_eq!((server.handshakes(), server.requests_read()), (0, 0));
        })
        .await;
    }
}

#[tokio::test]
async fn close_at_accept_is_an_orderly_end_even_for_a_client_that_has_sent() {
    within(async {
        let server = connections(ConnectionAct::CloseAtAccept).await;
        let mut client = Client::connect(&server).await;
        // More than the system buffers: that it is taken shows that the client is not cut off in the middle of it.
        client.send("PUT", "7", &"book".repeat(10_000_000)).await;
        assert_eq!(client.rest().await, (String::new(), End::Fin));
        assert_eq!((server.requests_read(), server.requests_executed()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn reset_at_accept_resets() {
    within(async {
        let server = connections(ConnectionAct::ResetAtAccept).await;
        let client = Client::connect(&server).await;
        assert_eq!(client.rest().await, (String::new(), End::Reset));
        assert_eq!(server.connections_accepted(), 1);
        server.wait_until_open(0).await;
    })
    .await;
}

/// The first connection gets this act, the others are served.
async fn connections(first: ConnectionAct) -> FaultyServer {
    let builder = FaultyServer::builder().at_accept(move |number| match number {
        1 => first,
        _ => ConnectionAct::Serve,
    });
    builder.start().await.expect("there is a free port")
}

#[tokio::test]
async fn an_act_at_accept_is_for_the_connection_with_that_number() {
    within(async {
        let server = connections(ConnectionAct::CloseAtAccept).await;
        assert_eq!(Client::connect(&server).await.rest().await.1, End::Fin);
        let mut second = Client::sending(&server, "GET", "7", "").await;
        assert!(second.answer().await.head.starts_with("HTTP/1.1 200 OK"));
    })
    .await;
}

#[tokio::test]
async fn a_decision_at_accept_that_panics_ends_its_connection_alone() {
    within(async {
        let decide = |connection| match connection {
            1 => panic!("panics on purpose"),
            _ => ConnectionAct::Serve,
        };
        let server = FaultyServer::builder().at_accept(decide).start().await.unwrap();
        assert_eq!(Client::connect(&server).await.rest().await.0, "");
        let mut second = Client::sending(&server, "GET", "7", "").await;
        assert!(second.answer().await.head.starts_with("HTTP/1.1 200 OK"));
    })
    .await;
}

#[tokio::test]
async fn a_list_is_one_act_a_request_and_then_answers() {
    within(async {
        let server = echo(vec![Act::RunThenClose, Act::ReadThenClose]).await;
        for (id, executed) in [("1", 1), ("2", 0)] {
            let client = Client::sending(&server, "PUT", id, "book").await;
            assert_eq!(client.rest().await, (String::new(), End::Fin));
            assert_eq!(server.executed(id), executed);
        }
        let mut client = Client::sending(&server, "PUT", "3", "book").await;
        for id in ["4", "5"] {
            assert_eq!(client.answer().await.body, b"book");
            client.send("PUT", id, "book").await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_script_knows_the_head_and_the_numbers() {
    struct Expecting;

    impl Script for Expecting {
        fn on_request(&self, request: &RequestContext) -> Act {
            let numbers = (request.connection, request.number_on_connection);
            let expected = match request.number {
                1 => ((1, 1), "POST", "a"),
                2 => ((1, 2), "GET", "without-id-2"),
                _ => ((2, 1), "GET", "c"),
            };
            let (method, id) = (request.method.as_str(), request.request_id.as_str());
            assert_eq!((numbers, method, id), expected);
            assert_eq!(request.path, "/orders");
            Act::Answer
        }
    }

    within(async {
        let server = echo(Expecting).await;
        let mut first = Client::sending(&server, "POST", "a", "book").await;
        first.answer().await;
        first.send_raw("GET /orders?page=2 HTTP/1.1\r\n\r\n").await;
        first.answer().await;
        let mut second = Client::sending(&server, "GET", "c", "").await;
        second.answer().await;
    })
    .await;
}
