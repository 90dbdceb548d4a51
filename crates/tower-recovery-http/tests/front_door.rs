//! The front door puts each layer around the handle. The fix is inert if one of them is missing: each of these tests fails then.

mod support;

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;
use tower::{Service, ServiceExt, util::BoxCloneSyncService};
use tower_recovery::{
    AttemptTimedOut, Delivery, Failure, LinearBackoff, Recovery, RecoveryEvent, ResolveError, Verdict,
};
use tower_recovery_http::{HttpFrontDoor, IncompleteBody, Origin, RepeatableBody, Transport};
use tower_recovery_test::{Act, FaultyServer, NotRegistered, Registry};

use self::support::{NAME, call, door, read, register, registry_of, request, server, write};

/// Long enough for a busy machine to answer, short enough to wait for where nobody does.
const ATTEMPT: Duration = Duration::from_millis(400);

#[tokio::test]
async fn a_write_follows_the_name_to_another_address_with_one_resolve() {
    // No connection is kept: a reset of one that is would race with the next call, and prove nothing.
    let closing = |_: &Request<Bytes>| Response::builder().header("connection", "close").body(Bytes::new()).unwrap();
    let old = FaultyServer::builder().application(closing).start().await.unwrap();
    let new = server().await.unwrap();
    let registry = registry_of(&old).await;
    let mut api = door(&registry).build().unwrap();
    call(&mut api, write("before")).await.unwrap();

    register(&registry, "second", &new);
    old.refuse().await;
    assert_eq!(call(&mut api, write("after")).await.unwrap(), "done");

    assert_eq!((old.executed("after"), new.executed("after")), (0, 1));
    assert_eq!(registry.look_ups(NAME), 2);
}

#[tokio::test]
async fn a_frozen_address_costs_one_attempt_and_never_a_second_execution() {
    let (old, new) = (server().await.unwrap(), server().await.unwrap());
    let registry = registry_of(&old).await;
    let mut api = door(&registry).attempt_timeout(ATTEMPT).build().unwrap();
    call(&mut api, write("before")).await.unwrap();

    register(&registry, "second", &new);
    old.freeze();
    let failure = call(&mut api, write("lost")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert!(failure.find::<AttemptTimedOut>().unwrap().handed_over);
    call(&mut api, write("next")).await.unwrap();

    // The frozen instance executes what it held, for a caller that gave up: the write must not have been sent again.
    old.thaw();
    old.wait_until_executed(2).await;
    assert_eq!((old.executed("lost"), new.executed("lost")), (1, 0));
    assert_eq!((old.executed("next"), new.executed("next")), (0, 1));
}

#[tokio::test]
async fn a_read_on_a_frozen_address_is_repeated_silently_on_the_next() {
    let (old, new) = (server().await.unwrap(), server().await.unwrap());
    let registry = registry_of(&old).await;
    let mut api = door(&registry).attempt_timeout(ATTEMPT).build().unwrap();

    call(&mut api, write("before")).await.unwrap();
    register(&registry, "second", &new);
    old.freeze();
    call(&mut api, read("read")).await.unwrap();

    assert_eq!(new.executed("read"), 1);
    assert_eq!(new.executions()[0].query.as_deref(), Some("silent=true"));
}

#[tokio::test]
async fn a_deadline_shorter_than_the_patience_of_others_does_not_keep_a_dead_handle_alive() {
    let (old, new) = (server().await.unwrap(), server().await.unwrap());
    let registry = registry_of(&old).await;
    let mut api = door(&registry).deadline(3 * ATTEMPT).build().unwrap();
    call(&mut api, write("before")).await.unwrap();

    register(&registry, "second", &new);
    old.freeze();
    call(&mut api, write("lost")).await.unwrap_err();
    call(&mut api, write("next")).await.unwrap();
    assert_eq!(new.executed("next"), 1);
}

#[tokio::test]
async fn an_answer_whose_body_is_short_is_no_answer() {
    let server = FaultyServer::builder()
        .application(|_| Response::new(Bytes::from_static(b"a body of many bytes")))
        .script([Act::PartialBody { sent: 6 }, Act::PartialBody { sent: 6 }])
        .start()
        .await
        .unwrap();
    let mut api = door(&registry_of(&server).await).build().unwrap();

    let failure = call(&mut api, write("write")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert_eq!(failure.find::<IncompleteBody>().unwrap().status, 200);
    assert_eq!(server.executed("write"), 1);

    assert_eq!(call(&mut api, read("read")).await.unwrap(), "a body of many bytes");
    assert_eq!(server.executed("read"), 2);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_not_asked_for_again() {
    let server = server().await.unwrap();
    let mut api = door(&registry_of(&server).await).body_limit(3).build().unwrap();
    let failure = call(&mut api, read("read")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    assert_eq!(
        failure.into_cause().unwrap().to_string(),
        "the body of an answer with status 200 OK is longer than the limit of 3 bytes"
    );
    assert_eq!(server.executed("read"), 1);
}

#[tokio::test]
async fn a_streaming_stack_gives_the_body_as_it_comes() {
    let server = server().await.unwrap();
    let api = door(&registry_of(&server).await).build_streaming::<Full<Bytes>>().unwrap();
    let response = api.oneshot(read("read")).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "done");
}

#[tokio::test]
async fn a_name_that_nobody_registered_is_never_sent_and_found_once_somebody_does() {
    let registry = Registry::<Origin>::new();
    let mut api = door(&registry).attempts(1).build().unwrap();
    let failure = call(&mut api, write("early")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert!(matches!(failure.find::<ResolveError>(), Some(ResolveError::Failed(_))));
    assert_eq!(failure.find::<NotRegistered>().unwrap().name, NAME);

    let server = server().await.unwrap();
    register(&registry, "first", &server);
    call(&mut api, write("later")).await.unwrap();
    assert_eq!((server.executed("early"), server.executed("later")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_pause_between_two_resolves_is_the_users() {
    let (step, soon) = (Duration::from_secs(10), Duration::from_millis(1));
    let door = door(&Registry::new()).attempts(2).backoff(LinearBackoff::new(soon, soon));
    let mut api = door.resolve_floor(step, step).build().unwrap();
    let started = Instant::now();
    call(&mut api, write("unknown")).await.unwrap_err();
    assert!((step..=step * 5 / 4).contains(&started.elapsed()), "{:?}", started.elapsed());
}

/// Chance adds up to a quarter to each of them.
#[tokio::test(start_paused = true)]
async fn the_pauses_between_resolves_that_did_not_help_grow_by_the_step_and_stop_at_the_ceiling() {
    let (step, ceiling) = (Duration::from_secs(10), Duration::from_secs(25));
    let failed = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&failed);
    let observer = move |event: &RecoveryEvent| {
        if let RecoveryEvent::ResolveFailed { .. } = event {
            log.lock().expect("no holder panics").push(Instant::now());
        }
    };
    let soon = Duration::from_millis(1);
    let door = door(&Registry::new()).attempts(6).backoff(LinearBackoff::new(soon, soon)).observer(observer);
    let mut api = door.resolve_floor(step, ceiling).build().unwrap();
    call(&mut api, write("unknown")).await.unwrap_err();

    let failed = failed.lock().expect("no holder panics");
    let pauses: Vec<_> = failed.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let expected = [step, 2 * step, ceiling, ceiling, ceiling];
    assert_eq!(pauses.len(), expected.len(), "{pauses:?}");
    for (pause, least) in pauses.iter().zip(expected) {
        assert!((least..=least * 5 / 4).contains(pause), "{least:?}: {pauses:?}");
    }
}

#[tokio::test]
async fn a_stack_can_be_erased_to_one_type_and_its_clones_share_the_handle() {
    let server = server().await.unwrap();
    let registry = registry_of(&server).await;
    let erased = BoxCloneSyncService::new(door(&registry).build::<Full<Bytes>>().unwrap());
    for number in 0..3 {
        let id = number.to_string();
        erased.clone().ready().await.unwrap().call(write(&id)).await.unwrap();
        assert_eq!(server.executed(&id), 1);
    }
    assert_eq!(registry.look_ups(NAME), 1);
}

#[tokio::test]
async fn any_authority_or_none_goes_to_the_origin() {
    let server = server().await.unwrap();
    let mut api = door(&registry_of(&server).await).build().unwrap();
    for uri in ["/commit", "http://artifact-manager/commit", "https://elsewhere:1/commit"] {
        call(&mut api, request(http::Method::POST, uri, uri)).await.unwrap();
        assert_eq!(server.executed(uri), 1);
    }
}

#[test]
fn settings_out_of_their_bounds_are_refused_by_name_value_and_bound() {
    let door = || Recovery::http(Registry::<Origin>::new().resolver(), NAME);
    let second = Duration::from_secs(1);
    for (refused, message) in [
        (door().attempts(0), "attempts is 0, but it must be at least 1"),
        (door().deadline(Duration::ZERO), "deadline is 0s, but it must be above zero"),
        (door().attempt_timeout(Duration::ZERO), "attempt_timeout is 0s, but it must be above zero"),
        (
            door().deadline(second).attempt_timeout(second),
            "attempt_timeout is 1s, but it must be shorter than the deadline of 1s",
        ),
        (
            door().attempt_timeout(second).transport(Transport::new().connect_timeout(second)),
            "connect_timeout is 1s, but it must be shorter than the attempt_timeout of 1s",
        ),
    ] {
        assert_eq!(refused.build::<Full<Bytes>>().unwrap_err().to_string(), message);
    }
}

#[tokio::test]
async fn the_version_of_a_request_is_the_connections_business_and_indicts_nobody() {
    let server = server().await.unwrap();
    let registry = registry_of(&server).await;
    let mut api = door(&registry).build().unwrap();
    for (version, id) in [(http::Version::HTTP_2, "2"), (http::Version::HTTP_3, "3"), (http::Version::HTTP_10, "1.0")] {
        let mut forwarded = write(id);
        *forwarded.version_mut() = version;
        call(&mut api, forwarded).await.unwrap();
        assert_eq!(server.executed(id), 1);
    }
    assert_eq!((registry.look_ups(NAME), server.connections_accepted()), (1, 1));
}

/// A request body that can be copied, is read from another client of this kind, and breaks there before anything was sent.
#[derive(Clone)]
struct Broken {
    frames_left: u8,
}

impl http_body::Body for Broken {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Failure>>> {
        self.frames_left -= 1;
        Poll::Ready(Some(match self.frames_left {
            1 => Ok(http_body::Frame::data(Bytes::from_static(b"half of it"))),
            _ => Err(Failure::new(Verdict::never_sent(), "the other server refused")),
        }))
    }
}

impl RepeatableBody for Broken {
    fn try_copy(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[tokio::test]
async fn a_proof_about_the_source_of_a_body_proves_nothing_of_the_request_that_carried_it() {
    let server = server().await.unwrap();
    let mut api = door(&registry_of(&server).await).build().unwrap();
    let request = write("streamed").map(|_| Broken { frames_left: 2 });
    let mut streamed = door(&registry_of(&server).await).build::<Broken>().unwrap();
    let failure = streamed.ready().await.unwrap().call(request).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{failure:?}");

    call(&mut api, write("next")).await.unwrap();
    assert_eq!((server.executed("streamed"), server.executed("next")), (0, 1));
}
