//! What the closure may configure, and what it may not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Response, StatusCode, header};
use tower_recovery::Delivery;
use tower_recovery_http::Transport;
use tower_recovery_test::FaultyServer;

use super::{
    adapter::ReqwestBuildError,
    bounded, door,
    library::{
        Error,
        dns::{Name, Resolve, Resolving},
        redirect, retry,
    },
    server, streaming, unary,
};

async fn answering(status: StatusCode, location: String) -> FaultyServer {
    FaultyServer::builder()
        .application(move |_| {
            let response = Response::builder().status(status).header(header::LOCATION, location.as_str());
            response.body(Bytes::from_static(b"the reason")).expect("a response")
        })
        .start()
        .await
        .expect("a port is free")
}

/// Followed to a host that refuses, the executed write would look like one that was never sent.
#[tokio::test]
async fn a_redirect_is_an_answer_whatever_the_closure_asks_for() {
    let refused = FaultyServer::refused_address().unwrap();
    let server = answering(StatusCode::SEE_OTHER, refused.origin()).await;
    let api = unary(door([server.origin()]), |client| client.redirect(redirect::Policy::limited(5))).unwrap();
    let response = bounded(api.post("/commit").send()).await.unwrap();
    assert_eq!((response.status(), response.url().path()), (StatusCode::SEE_OTHER, "/commit"));
    assert_eq!(response.headers()[header::LOCATION], refused.origin());
    assert_eq!((server.requests_executed(), server.connections_accepted()), (1, 1));
}

#[tokio::test]
async fn reqwests_own_retries_are_off_whatever_the_closure_asks_for() {
    let server = answering(StatusCode::SERVICE_UNAVAILABLE, "/".to_owned()).await;
    let api = unary(door([server.origin()]), |client| {
        let every_time = retry::for_host("127.0.0.1").no_budget().max_retries_per_request(2);
        client.retry(every_time.classify_fn(|attempt| attempt.retryable()))
    });
    let response = bounded(api.unwrap().post("/commit").send()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((server.requests_read(), server.connections_accepted()), (1, 1));
}

#[tokio::test]
async fn clones_share_the_client_of_the_handle_and_its_connection() {
    let server = server([]).await;
    let api = unary(door([server.origin()]), |client| client).unwrap();
    for _ in 0..3 {
        bounded(api.clone().post("/commit").send()).await.unwrap();
    }
    assert_eq!((server.requests_executed(), server.connections_accepted()), (3, 1));
}

#[derive(Debug)]
struct NeverResolves;

impl Resolve for NeverResolves {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn the_time_for_a_connection_is_the_front_doors_unless_the_closure_has_one() {
    let (short, long) = (Duration::from_millis(100), Duration::from_secs(20));
    for (of_the_door, of_the_closure) in [(short, None), (long, Some(short))] {
        let door = door(["http://nobody.invalid"]).attempts(1);
        let door = door.transport(Transport::new().connect_timeout(of_the_door));
        let api = unary(door, move |client| {
            let client = client.dns_resolver(Arc::new(NeverResolves));
            match of_the_closure {
                Some(limit) => client.connect_timeout(limit),
                None => client,
            }
        });
        let call = tokio::time::timeout(long / 2, api.unwrap().post("/commit").send());
        let failure = call.await.expect("it ends by the shorter time").unwrap_err();
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::NeverSent), true), "{failure:?}");
    }
}

#[test]
fn a_client_that_cannot_be_built_is_known_with_the_stack() {
    let Err(error) = unary(door(["http://10.0.0.7"]), |client| client.user_agent("no\nheader")) else {
        panic!("it was built");
    };
    assert_eq!(error.to_string(), "reqwest can build no client");
    let ReqwestBuildError::Client(cause) = error else { panic!("{error:?}") };
    assert!(cause.is_builder());
}

#[tokio::test]
async fn a_client_that_cannot_be_built_any_more_fails_its_call_as_never_sent() {
    let broken = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&broken);
    let agent = move || if seen.load(Ordering::Relaxed) { "no\nheader" } else { "tests/1.0" };
    let api = unary(door(["http://10.0.0.7"]), move |client| client.user_agent(agent())).unwrap();
    broken.store(true, Ordering::Relaxed);
    let failure = bounded(api.post("/commit").send()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true), "{failure:?}");
    assert!(failure.find::<ReqwestBuildError>().is_some() && failure.find::<Error>().unwrap().is_builder());
}

#[cfg(feature = "rustls")]
fn no_roots() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.expect("the defaults").with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}

#[test]
fn settings_out_of_their_bounds_are_refused_by_name_and_those_that_only_the_closure_can_make() {
    let door = || door(["http://10.0.0.7"]);
    let second = Duration::from_secs(1);
    let connecting = Transport::new().connect_timeout(second);
    #[cfg_attr(not(any(feature = "http2", feature = "rustls")), expect(unused_mut, reason = "by feature"))]
    let mut refusals = vec![
        (door().attempts(0), "attempts is 0, but it must be at least 1"),
        (
            door().attempt_timeout(second).transport(connecting),
            "connect_timeout is 1s, but it must be shorter than the attempt_timeout of 1s",
        ),
    ];
    #[cfg(feature = "http2")]
    refusals.push((
        door().transport(Transport::new().protocol(tower_recovery_http::Protocol::Http2)),
        "protocol is Http2, but it must be left to the closure that configures reqwest",
    ));
    #[cfg(feature = "rustls")]
    refusals.push((
        door().transport(Transport::new().tls(no_roots())),
        "tls is set, but it must be left to the closure that configures reqwest",
    ));
    for (refused, message) in refusals {
        assert_eq!(streaming(refused.clone(), |client| client).err().unwrap().to_string(), message);
        let error = unary(refused, |client| client).err().unwrap();
        assert!(matches!(error, ReqwestBuildError::Setting(_)), "{error:?}");
        assert_eq!(error.to_string(), message);
    }
}
