//! What does not depend on the client: the same faults and the same outcome over pools and single connections, HTTP/1 and HTTP/2.

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use tokio::time::Instant;
use tower_recovery::{AttemptTimedOut, Delivery, LinearBackoff};
use tower_recovery_test::{
    Act, ConnectionAct,
    faulty::{RequestContext, Until},
};

use self::support::{Client, NAME, Settings, bounded, read, registry_of, write};

/// Long enough for a busy machine to answer. Where it passes, it passes for all clients at once.
const ATTEMPT: Duration = Duration::from_secs(3);

fn impatient() -> Settings {
    Settings { attempt_timeout: ATTEMPT, ..Settings::default() }
}

/// B01: an idle connection is closed under the request.
#[tokio::test]
async fn b01_a_used_connection_closed_under_the_request_is_maybe_sent_over_every_client() {
    for client in Client::all() {
        for (second, attempts) in [(write("second"), 1), (read("second"), 2)] {
            let server = client.serve(|server| server.script([Act::Answer, Act::ReadThenClose])).await;
            let registry = registry_of(&server).await;
            let api = client.api(&registry);
            bounded(api.send(write("first"))).await.unwrap();
            match (bounded(api.send(second)).await, attempts) {
                (outcome, 2) => assert_eq!(outcome.unwrap().status(), 200, "{client:?}"),
                (outcome, _) => assert_eq!(outcome.unwrap_err().delivery(), Some(Delivery::MaybeSent), "{client:?}"),
            }
            assert_eq!((server.requests_read(), server.executed("second")), (1 + attempts, attempts - 1), "{client:?}");
            assert_eq!(server.connections_accepted(), attempts, "{client:?}");
            if attempts == 2 {
                assert_eq!(server.executions()[1].query.as_deref(), Some("silent=true"), "{client:?}");
            }
        }
    }
}

/// B02: a fresh connection that ends after the run.
#[tokio::test]
async fn b02_an_answer_that_did_not_come_is_maybe_sent_over_every_client() {
    for client in Client::all() {
        for act in [Act::RunThenClose, Act::RunThenReset] {
            let server = client.serve(|server| server.script([act, act])).await;
            let api = client.api(&registry_of(&server).await);
            let failure = bounded(api.send(write("payment"))).await.unwrap_err();
            assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{client:?}, {act:?}");
            assert_eq!(server.executed("payment"), 1, "{client:?}, {act:?}");

            bounded(api.sees_the_end()).await;
            bounded(api.send(read("look"))).await.unwrap();
            assert_eq!((server.executed("look"), server.executed("payment")), (2, 1), "{client:?}, {act:?}");
            let silent: Vec<_> = server.executions().iter().map(|run| run.query.is_some()).collect();
            assert_eq!(silent, [false, false, true], "{client:?}, {act:?}: the repeat alone is silent");
        }
    }
}

/// B11: a listener that accepts and closes at once is dialled once an attempt. A pool sends at once into what it has connected; a handle of one
/// connection asks first whether it lives. Whether that sees the end in time, or the request is first, is a race that no side can decide.
#[tokio::test]
async fn b11_a_connection_closed_at_accept_is_dialled_once_an_attempt_over_every_client() {
    // A handle of one connection is dialled in its look-up, which keeps a pause of its own. That of a pool is dialled in the attempt: the first repeat goes at
    // once to the new one, and the second has a pause here that is longer than any of a look-up's.
    let (floor, step) = (Duration::from_millis(100), Duration::from_millis(300));
    let rows = Client::all()
        .flat_map(|client| [ConnectionAct::CloseAtAccept, ConnectionAct::ResetAtAccept].map(|act| (client, act)));
    join_all(rows.map(async |(client, act)| {
        let row = format!("{client:?}, {act:?}");
        let dials = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&dials);
        let at_accept = move |_| {
            log.lock().expect("no holder panics").push(Instant::now());
            act
        };
        let server = client.serve(|server| server.at_accept(at_accept)).await;
        let backoff = LinearBackoff::new(step, 10 * step);
        let api = client.api_with(&registry_of(&server).await, Settings { backoff, ..Settings::default() });
        let started = Instant::now();
        let failure = bounded(api.send(read("read"))).await.unwrap_err();
        assert_eq!((failure.attempts(), failure.is_exhausted()), (3, true), "{row}: {failure:?}");
        assert!(matches!(failure.delivery(), Some(Delivery::NeverSent | Delivery::MaybeSent)), "{row}");
        assert_eq!(server.requests_executed(), 0, "{row}");
        let [_, second, third] = dials.lock().expect("no holder panics")[..] else { panic!("{row}: {dials:?}") };
        assert!(second - started >= floor, "{row}: {dials:?} after {started:?}");
        let is_calm = match client {
            Client::Pool(_) => third - second >= step,
            Client::Connection(_) => third - started >= 2 * floor,
        };
        assert!(is_calm, "{row}: {dials:?} after {started:?}");
    }))
    .await;
}

/// B15 (b): only a time-out before the connection is made proves that nothing was sent. The other half is in `tls.rs`.
#[tokio::test]
async fn b15_a_time_out_after_the_request_was_read_is_maybe_sent_over_every_client() {
    join_all(Client::all().map(async |client| {
        let script = |request: &RequestContext| if request.number <= 2 { Act::RunThenFreeze } else { Act::Answer };
        let server = client.serve(|server| server.script(script)).await;
        let api = client.api_with(&registry_of(&server).await, impatient());
        let failure = bounded(api.send(write("write"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{client:?}");
        assert!(failure.find::<AttemptTimedOut>().unwrap().handed_over, "{client:?}");

        bounded(api.send(read("read"))).await.unwrap();
        assert_eq!((server.executed("write"), server.executed("read")), (1, 2), "{client:?}");
    }))
    .await;
}

/// B41 over HTTP/1, where giving up closes the connection.
#[tokio::test]
async fn b41_a_frozen_http1_connection_to_an_unchanged_address_is_left_for_a_new_one() {
    b41_over(Client::HTTP1).await;
}

/// B41 over HTTP/2, where giving up resets a stream and leaves the dead connection open: it must be the handle that goes.
#[cfg(feature = "http2")]
#[tokio::test]
async fn b41_a_frozen_http2_connection_to_an_unchanged_address_is_left_for_a_new_one() {
    b41_over(Client::HTTP2).await;
}

/// After a first answer, the peer stops reading and writing, without an end. The address stays what it was, and a new connection works.
async fn b41_over(clients: [Client; 2]) {
    let rows = clients.into_iter().flat_map(|client| [(client, true), (client, false)]);
    join_all(rows.map(async |(client, second_is_read)| {
        let script = |request: &RequestContext| match (request.connection, request.number_on_connection) {
            (1, 2..) => Act::FreezeConnectionThenRun { until: Until::Never },
            _ => Act::Answer,
        };
        let server = client.serve(|server| server.script(script)).await;
        let registry = registry_of(&server).await;
        let api = client.api_with(&registry, impatient());
        bounded(api.send(write("first"))).await.expect("it is answered");

        let row = format!("{client:?}, read: {second_is_read}");
        if second_is_read {
            bounded(api.send(read("second"))).await.expect("it is repeated");
            assert_eq!(server.executions()[1].query.as_deref(), Some("silent=true"), "{row}");
        } else {
            let failure = bounded(api.send(write("second"))).await.expect_err("it may have been sent");
            let proven = (failure.delivery(), failure.is_stale(), failure.attempts());
            assert_eq!(proven, (Some(Delivery::MaybeSent), true, 1), "{row}");
        }
        bounded(api.send(write("third"))).await.expect("it is answered");
        assert_eq!(server.executed("second"), usize::from(second_is_read), "{row}");
        assert_eq!(server.executed("third"), 1, "{row}");
        assert_eq!((server.connections_accepted(), registry.look_ups(NAME)), (2, 2), "{row}");
    }))
    .await;
}
