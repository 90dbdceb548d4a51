//! Freezing, thawing, refusing, accepting again, and the end of the server.

mod support;

use std::{io, time::Duration};

use support::{Client, End, echo, within};
use tokio::net::TcpStream;
use tower_recovery_test::faulty::{Act, FaultyServer, RequestContext};

#[tokio::test]
async fn a_frozen_server_accepts_and_reads_and_a_thaw_executes_and_answers() {
    within(async {
        let server = echo([]).await;
        let mut early = Client::connect(&server).await;
        server.wait_until_connections(1).await;
        server.freeze();
        early.send("PUT", "1", "book").await;
        let mut late = Client::sending(&server, "PUT", "2", "shelf").await;
        server.wait_until_held(2).await;
        assert_eq!(server.connections_accepted(), 2);
        assert_eq!((server.requests_read(), server.requests_held()), (2, 2));
        assert_eq!(server.requests_executed(), 0);
        early.assert_silent();
        late.assert_silent();

        server.thaw();
        assert_eq!(early.answer().await.body, b"book");
        assert_eq!(late.answer().await.body, b"shelf");
        assert_eq!((server.requests_executed(), server.requests_held()), (2, 0));
    })
    .await;
}

#[tokio::test]
async fn a_thaw_executes_what_was_held_even_if_a_freeze_follows_at_once() {
    within(async {
        let server = echo([]).await;
        server.freeze();
        let mut first = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        server.thaw();
        server.freeze();
        assert_eq!(first.answer().await.body, b"book");

        first.send("PUT", "2", "book").await;
        server.wait_until_held(1).await;
        assert_eq!((server.executed("1"), server.executed("2")), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_freeze_holds_what_a_script_would_have_ended() {
    within(async {
        let server = echo([Act::ReadThenReset]).await;
        server.freeze();
        let client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        client.assert_silent();
        server.thaw();
        assert_eq!(client.rest().await, (String::new(), End::Reset));
        assert_eq!(server.requests_executed(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_freeze_holds_what_was_waiting_for_its_execution() {
    within(async {
        let delay = Duration::from_secs(3);
        let server = echo([Act::SlowThenRun { delay }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_read(1).await;
        server.freeze();
        server.wait_until_held(1).await;
        assert_eq!(server.requests_executed(), 0);
        server.thaw();
        assert_eq!(client.answer().await.body, b"book");
    })
    .await;
}

#[tokio::test]
async fn what_was_executed_before_a_freeze_is_answered() {
    within(async {
        let server = echo([Act::RunThenFreeze]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        server.thaw();
        server.freeze();
        assert_eq!(client.answer().await.body, b"book");
    })
    .await;
}

#[tokio::test]
async fn a_refusing_server_resets_connections_and_refuses_new_ones() {
    within(async {
        let server = echo([]).await;
        let mut idle = Client::connect(&server).await;
        idle.send("PUT", "1", "book").await;
        idle.answer().await;
        server.refuse().await;
        assert_eq!(server.connections_open(), 0);
        assert_eq!(idle.rest().await, (String::new(), End::Reset));
        let refused = TcpStream::connect(server.address()).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    })
    .await;
}

#[tokio::test]
async fn what_was_held_when_the_server_refused_is_never_executed() {
    within(async {
        let server = echo(|request: &RequestContext| match request.request_id.as_str() {
            "scripted" => Act::FreezeThenRun,
            _ => Act::Answer,
        })
        .await;
        let scripted = Client::sending(&server, "PUT", "scripted", "book").await;
        server.wait_until_held(1).await;
        server.freeze();
        let frozen = Client::sending(&server, "PUT", "frozen", "book").await;
        server.wait_until_held(2).await;

        server.refuse().await;
        assert_eq!(server.requests_held(), 0);
        assert_eq!(scripted.rest().await.1, End::Reset);
        assert_eq!(frozen.rest().await.1, End::Reset);
        server.thaw();
        server.accept_again().unwrap();
        let mut after = Client::sending(&server, "PUT", "after", "book").await;
        after.answer().await;
        let ids: Vec<_> = server.executions().into_iter().map(|entry| entry.request_id).collect();
        assert_eq!(ids, ["after"]);
    })
    .await;
}

#[tokio::test]
async fn a_server_refuses_and_accepts_again_at_the_same_address_many_times() {
    within(async {
        let server = echo([]).await;
        let origin = server.origin();
        for round in 1..=20 {
            let mut client = Client::sending(&server, "PUT", "1", "book").await;
            client.answer().await;
            server.refuse().await;
            server.refuse().await;
            server.accept_again().unwrap();
            server.accept_again().unwrap();
            assert_eq!(server.origin(), origin);
            assert_eq!(server.executed("1"), round);
        }
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_else_gets_the_port_of_a_server_that_refuses() {
    let server = echo([]).await;
    server.refuse().await;
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    let taken = other.bind(server.address()).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn a_frozen_server_that_refused_is_frozen_still() {
    within(async {
        let server = echo([]).await;
        server.freeze();
        server.refuse().await;
        server.accept_again().unwrap();
        let client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        client.assert_silent();
    })
    .await;
}

#[tokio::test]
async fn open_connections_are_those_that_neither_side_has_ended() {
    within(async {
        let server = echo([Act::Answer, Act::AnswerThenClose]).await;
        let mut first = Client::sending(&server, "PUT", "1", "book").await;
        first.answer().await;
        let second = Client::connect(&server).await;
        server.wait_until_open(2).await;
        first.send("PUT", "2", "book").await;
        server.wait_until_open(1).await;
        drop(second);
        server.wait_until_open(0).await;
        assert_eq!(first.answer().await.body, b"book");
    })
    .await;
}

#[tokio::test]
async fn a_dropped_server_closes_everything_and_executes_nothing() {
    within(async {
        let server = echo([]).await;
        let address = server.address();
        let idle = Client::connect(&server).await;
        server.freeze();
        let held = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        drop(server);
        assert_eq!(idle.rest().await, (String::new(), End::Fin));
        assert_eq!(held.rest().await, (String::new(), End::Fin));
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    })
    .await;
}

#[tokio::test]
async fn a_refused_address_refuses() {
    let nobody = FaultyServer::refused_address().unwrap();
    let refused = TcpStream::connect(nobody.address()).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(nobody.origin(), format!("http://{}", nobody.address()));
}
