//! What HTTP/1 over hyper-util shows of each fault, over a real socket: what it proves, what is repeated, and what was executed.

mod support;

use std::{error::Error, io, time::Duration};

use http::{Response, StatusCode};
use tower_recovery::{Delivery, sources};
use tower_recovery_test::{Act, ConnectionAct, FaultyServer};

use self::support::{NAME, call, door, read, registry_of, server, write};

/// Acts after which a request may have executed, and how often it really did.
const MAYBE_SENT: [(Act, usize); 6] = [
    (Act::ReadThenClose, 0),
    (Act::ReadThenReset, 0),
    (Act::RunThenClose, 1),
    (Act::RunThenReset, 1),
    (Act::PartialHead, 1),
    (Act::PartialBodyThenReset { sent: 1 }, 1),
];

async fn faulty(act: Act) -> FaultyServer {
    FaultyServer::builder()
        .application(|_| Response::new("done".into()))
        .script([act])
        .start()
        .await
        .expect("a port is free")
}

#[tokio::test]
async fn a_write_that_may_have_executed_is_sent_once_and_says_so() {
    for (act, executed) in MAYBE_SENT {
        let server = faulty(act).await;
        let mut api = door(&registry_of(&server).await).build().unwrap();
        let failure = call(&mut api, write("write")).await.unwrap_err();

        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{act:?}: {failure:?}");
        assert!(failure.is_stale(), "{act:?}");
        assert_eq!((server.requests_read(), server.executed("write")), (1, executed), "{act:?}");
        assert_eq!(failure.attempts(), 1, "{act:?}");
    }
}

#[tokio::test]
async fn a_read_that_may_have_executed_is_repeated_and_silenced() {
    for (act, executed) in MAYBE_SENT {
        let server = faulty(act).await;
        let registry = registry_of(&server).await;
        let mut api = door(&registry).build().unwrap();
        call(&mut api, read("read")).await.unwrap();

        assert_eq!((server.requests_read(), server.executed("read")), (2, executed + 1), "{act:?}");
        let silent = server.executions().iter().filter(|run| run.query.as_deref() == Some("silent=true")).count();
        assert_eq!(silent, 1, "{act:?}: the repeat, and only the repeat, is silent");
        assert_eq!(registry.look_ups(NAME), 2, "{act:?}: one eviction, one resolve");
    }
}

#[tokio::test]
async fn a_refused_connection_is_never_sent_and_a_write_goes_on_once_somebody_listens() {
    let server = server().await.unwrap();
    server.refuse().await;
    let mut api = door(&registry_of(&server).await).build().unwrap();
    let failure = call(&mut api, write("write")).await.unwrap_err();

    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert_eq!((failure.attempts(), failure.is_exhausted(), failure.is_stale()), (3, true, true));
    assert_eq!(failure.find::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionRefused);

    server.accept_again().unwrap();
    call(&mut api, write("write")).await.unwrap();
    assert_eq!(server.executed("write"), 1);
}

/// B11: a listener that accepts and closes at once gets as many connections as the call has attempts, not one after the other for ever.
#[tokio::test]
async fn b11_a_connection_closed_at_accept_is_dialled_once_an_attempt() {
    for act in [ConnectionAct::CloseAtAccept, ConnectionAct::ResetAtAccept] {
        let server = FaultyServer::builder().at_accept(move |_| act).start().await.unwrap();
        let mut api = door(&registry_of(&server).await).build().unwrap();
        let failure = call(&mut api, read("read")).await.unwrap_err();

        assert_eq!((failure.attempts(), failure.is_exhausted()), (3, true), "{act:?}: {failure:?}");
        assert_eq!(server.connections_accepted(), 3, "{act:?}");
        // Whether the close or the request is first on the socket is a race that no side can decide: never sent, or maybe.
        assert!(matches!(failure.delivery(), Some(Delivery::NeverSent | Delivery::MaybeSent)), "{act:?}");
        assert_eq!(server.requests_executed(), 0);
    }
}

/// B02: on a fresh connection, too, an answer that did not come proves nothing.
#[tokio::test]
async fn b02_a_fresh_connection_closed_after_the_run_is_maybe_sent() {
    let server = faulty(Act::RunThenClose).await;
    let mut api = door(&registry_of(&server).await).build().unwrap();
    let failure = call(&mut api, write("payment")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert_eq!(server.executed("payment"), 1);
}

/// B01: an idle connection is closed under the request.
#[tokio::test]
async fn b01_a_pooled_connection_closed_under_the_request_is_maybe_sent() {
    for (request, attempts_read) in [(write("second"), 1), (read("second"), 2)] {
        let server = FaultyServer::builder()
            .application(|_| Response::new("done".into()))
            .script([Act::Answer, Act::ReadThenClose])
            .start()
            .await
            .unwrap();
        let mut api = door(&registry_of(&server).await).build().unwrap();
        call(&mut api, write("first")).await.unwrap();

        let outcome = call(&mut api, request).await;
        assert_eq!(server.requests_read(), 1 + attempts_read);
        match attempts_read {
            1 => assert_eq!(outcome.unwrap_err().delivery(), Some(Delivery::MaybeSent)),
            _ => {
                assert_eq!(outcome.unwrap(), "done");
                assert_eq!(server.executions()[1].query.as_deref(), Some("silent=true"), "the repeat is silent");
            }
        }
    }
}

/// B15: only a time-out before the connection is made proves that nothing was sent.
#[tokio::test]
async fn b15_a_time_out_after_the_request_was_read_is_maybe_sent() {
    let server = faulty(Act::RunThenFreeze).await;
    let mut api = door(&registry_of(&server).await).attempt_timeout(Duration::from_millis(300)).build().unwrap();
    let failure = call(&mut api, write("write")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert_eq!(server.executed("write"), 1);
}

/// B23, B52: a status is a verdict, whoever speaks it; nothing is repeated, reads included.
#[tokio::test]
async fn b23_b52_a_status_is_an_answer_and_comes_out_as_it_is() {
    for status in [
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::NOT_FOUND,
    ] {
        let server = answering(status).await;
        let registry = registry_of(&server).await;
        let mut api = door(&registry).build().unwrap();
        for (number, request) in [(1, write("write")), (2, read("read"))] {
            assert_eq!(call(&mut api, request).await.unwrap(), "the reason", "{status}");
            assert_eq!(server.requests_executed(), number, "{status}");
        }
        assert_eq!(registry.look_ups(NAME), 1, "{status}: an answer evicts nothing");
    }
}

#[tokio::test]
async fn a_refusal_is_repeated_up_to_the_cap_and_then_comes_out_as_the_response_that_it_is() {
    for (status, look_ups) in [(StatusCode::MISDIRECTED_REQUEST, 3), (StatusCode::TOO_EARLY, 1)] {
        let server = answering(status).await;
        let registry = registry_of(&server).await;
        let mut api = door(&registry).build().unwrap();
        assert_eq!(call(&mut api, write("write")).await.unwrap(), "the reason");
        assert_eq!(server.requests_read(), 3, "{status}");
        assert_eq!(
            registry.look_ups(NAME),
            look_ups,
            "{status}: 421 asks for another connection, 425 for another time"
        );
    }
}

#[tokio::test]
async fn the_original_error_stays_downcastable_below_the_failure() {
    let server = faulty(Act::RunThenReset).await;
    let mut api = door(&registry_of(&server).await).build().unwrap();
    let failure = call(&mut api, write("write")).await.unwrap_err();
    assert!(failure.find::<hyper_util::client::legacy::Error>().is_some());
    assert!(failure.find::<hyper::Error>().is_some());
    let chain: Vec<String> = sources(&failure as &(dyn Error + 'static)).map(ToString::to_string).collect();
    assert_eq!(chain[..2], ["the request may have been executed", "after 1 attempt"]);
}

async fn answering(status: StatusCode) -> FaultyServer {
    FaultyServer::builder()
        .application(move |_| {
            let mut response = Response::new("the reason".into());
            *response.status_mut() = status;
            response
        })
        .start()
        .await
        .expect("a port is free")
}
