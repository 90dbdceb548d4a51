//! What an HTTP/2 server refuses: streams, and whole connections by `GOAWAY`. Each over a pool and over a connection of its own.
#![cfg(feature = "http2")]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use tokio::time::Instant;
use tower_recovery::{Delivery, GiveUp, LinearBackoff};
use tower_recovery_test::{
    Act, Gate,
    faulty::{ErrorCode, GoAway, LastStream, RequestContext},
};

use self::support::{Client, NAME, Settings, bounded, read, registry_of, request, write};

/// The pause before the n-th repeat is at least half of n of these, and at most the whole.
const STEP: Duration = Duration::from_millis(100);

fn patient(step: Duration) -> Settings {
    Settings { backoff: LinearBackoff::new(step, 10 * step), ..Settings::default() }
}

/// The moments at which the heads of requests came in.
type Arrivals = Arc<Mutex<Vec<Instant>>>;

/// The pauses between them.
fn pauses(arrivals: &Arrivals) -> Vec<Duration> {
    arrivals.lock().expect("no holder panics").windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The same act for every request, and when each of them came.
fn always(act: Act) -> (Arrivals, impl Fn(&RequestContext) -> Act + Send + Sync + 'static) {
    let arrivals = Arrivals::default();
    let log = Arc::clone(&arrivals);
    (arrivals, move |_: &RequestContext| {
        log.lock().expect("no holder panics").push(Instant::now());
        act
    })
}

/// B06: a GOAWAY whose last stream is 3 ends a connection with three writes in flight. hyper does not say which of them is above the last
/// stream, so none is proven unprocessed, not even the one that is.
#[tokio::test]
async fn b06_a_go_away_with_writes_in_flight_proves_nothing_about_any_of_them() {
    for client in Client::HTTP2 {
        let script = |request: &RequestContext| match (request.connection, request.stream_id) {
            (1, Some(5)) => Act::ReadThenGoAway(GoAway::new(LastStream::Id(3))),
            (1, _) => Act::RunThenFreeze,
            _ => Act::Answer,
        };
        let server = client.serve(|server| server.script(script)).await;
        let api = client.api(&registry_of(&server).await);
        let mut calls = Vec::new();
        for (number, id) in ["1", "3", "5"].into_iter().enumerate() {
            bounded(server.wait_until_executed(number)).await;
            calls.push(tokio::spawn(api.send(write(id))));
        }
        for call in calls {
            let failure = bounded(call).await.unwrap().unwrap_err();
            let proven = (failure.delivery(), failure.is_stale(), failure.attempts());
            assert_eq!(proven, (Some(Delivery::MaybeSent), true, 1), "{client:?}: {failure:?}");
        }
        assert_eq!(["1", "3", "5"].map(|id| server.executed(id)), [1, 1, 0], "{client:?}");
        assert_eq!((server.requests_read(), server.connections_accepted()), (3, 1), "{client:?}");

        bounded(api.send(write("next"))).await.unwrap();
        assert_eq!((server.executed("next"), server.connections_accepted()), (1, 2), "{client:?}");
    }
}

/// B08: six writes at once over a limit of two that the client does not know yet. Four are refused, wait, and are done, not all at one instant.
#[tokio::test]
async fn b08_streams_above_the_limit_are_refused_and_each_is_done_once_after_a_pause() {
    // Chance takes up to half of it away. All that is left to it are 200 ms: once in 250 000 times it puts all four within 2 ms of each other.
    let (step, instant) = (4 * STEP, Duration::from_millis(2));
    for client in Client::HTTP2 {
        let (settings, executed) = (Gate::new(), Arrivals::default());
        let log = Arc::clone(&executed);
        let server = client
            .serve(|server| {
                let logging = move |_: &http::Request<Bytes>| {
                    log.lock().expect("no holder panics").push(Instant::now());
                    Response::new(Bytes::new())
                };
                server.application(logging).max_concurrent_streams(2).settings_behind(&settings)
            })
            .await;
        server.freeze();
        let api = client.api_with(&registry_of(&server).await, patient(step));
        let ids = ["1", "2", "3", "4", "5", "6"];
        let calls: Vec<_> = ids.map(|id| tokio::spawn(api.send(write(id)))).into();
        bounded(server.wait_until_held(2)).await;
        bounded(server.wait_until_refused(4)).await;

        // Now the client may read that it was refused.
        let told = Instant::now();
        settings.open();
        server.thaw();
        for call in calls {
            assert_eq!(bounded(call).await.unwrap().unwrap().status(), StatusCode::OK, "{client:?}");
        }
        assert_eq!(ids.map(|id| server.executed(id)), [1; 6], "{client:?}");
        assert_eq!(
            (server.streams_refused(), server.connections_accepted()),
            (4, 1),
            "{client:?}: none comes back too early"
        );
        let executed = executed.lock().expect("no holder panics");
        assert!(executed[2..].iter().all(|at| *at - told >= step / 2), "{client:?}: {executed:?} after {told:?}");
        assert!(executed[5] - executed[2] >= instant, "{client:?}: {executed:?} after {told:?}");
    }
}

/// B09: the attempts and the pauses belong to the call, whatever becomes of its streams; what comes out is the last refusal.
#[tokio::test]
async fn b09_a_peer_that_refuses_for_ever_is_asked_three_times_with_growing_pauses() {
    for client in Client::HTTP2 {
        for (method, path) in [(Method::POST, "/commit"), (Method::GET, "/read")] {
            let (arrivals, script) = always(Act::RefuseStream);
            let server = client.serve(|server| server.script(script)).await;
            let registry = registry_of(&server).await;
            let api = client.api_with(&registry, patient(STEP));
            let failure = bounded(api.send(request(method, path, "refused"))).await.unwrap_err();

            assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::Refused), 3), "{client:?}");
            assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::Attempts), true), "{client:?}");
            assert_eq!(failure.find::<h2::Error>().unwrap().reason(), Some(h2::Reason::REFUSED_STREAM), "{client:?}");
            let [first, second] = pauses(&arrivals)[..] else { panic!("{client:?}: {arrivals:?}") };
            assert!(first >= STEP / 2 && second >= STEP, "{client:?}: {first:?}, then {second:?}");
            assert_eq!((server.streams_refused(), server.requests_executed()), (3, 0), "{client:?}");
            // The connection is alive, and so it stays.
            assert_eq!((server.connections_accepted(), registry.look_ups(NAME)), (1, 1), "{client:?}");
        }
    }
}

/// B09, with `GOAWAY` and `ENHANCE_YOUR_CALM` instead. Through hyper that proves nothing, so a write is not repeated, against the entry's
/// word; a read is, and calmly. A handle of one connection finds out in its second attempt, before it sends, that the connection has gone.
#[tokio::test]
async fn b09_a_peer_that_asks_for_calm_gets_it() {
    // More than the pause that any look-up of a new handle keeps: one that is found at once is no reason to hurry.
    let step = Duration::from_secs(1);
    let calm = GoAway::new(LastStream::BelowThis).code(ErrorCode::ENHANCE_YOUR_CALM);
    for client in Client::HTTP2 {
        let (arrivals, script) = always(Act::ReadThenGoAway(calm));
        let server = client.serve(|server| server.script(script)).await;
        let registry = registry_of(&server).await;
        let failure = bounded(client.api(&registry).send(write("write"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{client:?}");
        assert_eq!(server.requests_read(), 1, "{client:?}");

        arrivals.lock().expect("no holder panics").clear();
        let api = client.api_with(&registry, patient(step));
        let failure = bounded(api.send(read("read"))).await.unwrap_err();
        assert_eq!((failure.attempts(), failure.is_exhausted()), (3, true), "{client:?}");
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{client:?}");
        let pauses = pauses(&arrivals);
        assert_eq!(pauses.len(), if client == Client::HTTP2[0] { 2 } else { 1 }, "{client:?}");
        assert!(pauses[0] >= step / 2 && pauses[1..].iter().all(|pause| *pause >= step), "{client:?}: {pauses:?}");
        assert_eq!(server.requests_executed(), 0, "{client:?}");
    }
}
