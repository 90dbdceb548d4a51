//! Calls over a connection that the failure of another call evicts: they keep it until their own end.

#![cfg(feature = "http2")]

mod support;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tower::{BoxError, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_recovery::{
    AttemptTimedOut, AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, Failure, HandleCache, ReadOnlyRetryLayer,
    ReresolveLayer, Resolved,
};
use tower_recovery_http::{
    CollectLayer, CollectedBody, ConnectLayer, ConnectionHandle, HttpClassifier, HttpRules, Origin, OriginHandle,
    Protocol, ReadRoutes, Transport,
};
use tower_recovery_test::{
    Act, FaultyServer, Registry,
    faulty::{RequestContext, Until},
};

use self::support::{NAME, bounded, registry_of, request, write};

/// What the callers of one connection give it: the second is to outlive the eviction by the first.
const IMPATIENCE: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(25);

type Body = Full<Bytes>;
type Handle = BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>;
type Api = BoxCloneSyncService<Request<Body>, Response<CollectedBody>, Failure>;

/// A pool, or a single connection, for one and the same tests.
fn caches(registry: &Registry<Origin>) -> [HandleCache<Handle>; 2] {
    let transport = Transport::new().protocol(Protocol::Http2);
    let of_pools = transport.clone();
    let pool = move |found: Resolved<Origin>| {
        let pool = OriginHandle::<Body>::new(found.handle, &of_pools).expect("the transport fits the origin");
        Resolved::new(found.identity, Handle::new(pool))
    };
    let pools = ServiceBuilder::new().map_response(pool).service(registry.resolver());
    let erased = |found: Resolved<ConnectionHandle<Body>>| Resolved::new(found.identity, Handle::new(found.handle));
    let connections =
        ServiceBuilder::new().map_response(erased).layer(ConnectLayer::new(transport)).service(registry.resolver());
    [HandleCache::new(pools, NAME), HandleCache::new(connections, NAME)]
}

/// A stack over a cache that other stacks share.
fn api(cache: &HandleCache<Handle>, attempt_timeout: Duration) -> Api {
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(HttpRules::<Body>::new(ReadRoutes::safe())))
        .layer(ReresolveLayer::new(cache.clone()))
        .layer(ClassifyLayer::new(HttpClassifier::new()))
        .layer(AttemptTimeoutLayer::new(attempt_timeout))
        .layer(CollectLayer::new(1 << 20))
        .service(Dispatch);
    Api::new(stack)
}

fn post(path: &str) -> Request<Body> {
    request(Method::POST, path, path)
}

async fn serving(script: impl Fn(&RequestContext) -> Act + Send + Sync + 'static) -> FaultyServer {
    FaultyServer::builder().http2().script(script).start().await.expect("a port is free")
}

/// A slow call and one that is never answered share a connection; the second gives up, and evicts it.
#[tokio::test]
async fn b44_a_slow_call_ends_with_its_own_answer_on_the_connection_that_was_evicted_under_it() {
    for number in 0..2 {
        let server = serving(|request| match request.path.as_str() {
            "/slow" => Act::RunThenFreeze,
            "/lost" => Act::FreezeThenRun,
            _ => Act::Answer,
        })
        .await;
        let registry = registry_of(&server).await;
        let cache = &caches(&registry)[number];
        bounded(api(cache, PATIENCE).oneshot(write("first"))).await.unwrap();
        let slow = tokio::spawn(api(cache, PATIENCE).oneshot(post("/slow")));
        bounded(server.wait_until_executed(2)).await;

        let failure = bounded(api(cache, IMPATIENCE).oneshot(post("/lost"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true), "{number}");
        bounded(api(cache, PATIENCE).oneshot(write("next"))).await.unwrap();
        assert_eq!((server.connections_accepted(), server.connections_open()), (2, 2), "{number}");
        assert!(!slow.is_finished(), "{number}: an eviction closes nothing");

        server.thaw();
        assert_eq!(bounded(slow).await.unwrap().unwrap().status(), 200, "{number}");
        assert_eq!(server.executed("/slow"), 1, "{number}");
        bounded(server.wait_until_open(1)).await;
        assert_eq!((registry.look_ups(NAME), cache.generation().unwrap().get()), (2, 2), "{number}");
    }
}

/// The peer stops reading and writing under two calls. The first to give up evicts the connection; the other one is left to its own timeout.
#[tokio::test]
async fn b41_a_call_beside_one_that_gave_up_on_a_frozen_connection_ends_by_its_own_timeout() {
    for number in 0..2 {
        let server = serving(|request| match (request.connection, request.path.as_str()) {
            (1, "/stalled") => Act::FreezeConnectionThenRun { until: Until::Never },
            _ => Act::Answer,
        })
        .await;
        let registry = registry_of(&server).await;
        let cache = &caches(&registry)[number];
        bounded(api(cache, PATIENCE).oneshot(write("first"))).await.unwrap();
        let stalled = tokio::spawn(api(cache, IMPATIENCE).oneshot(post("/stalled")));
        bounded(server.wait_until_held(1)).await;
        let own = 5 * IMPATIENCE;
        let sibling = tokio::spawn(api(cache, own).oneshot(post("/sibling")));

        let failure = bounded(stalled).await.unwrap().unwrap_err();
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true), "{number}");
        bounded(api(cache, PATIENCE).oneshot(write("next"))).await.unwrap();
        assert_eq!((server.executed("next"), server.connections_accepted()), (1, 2), "{number}");
        let failure = bounded(sibling).await.unwrap().unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{number}");
        assert_eq!(failure.find::<AttemptTimedOut>().unwrap().limit, own, "{number}");

        bounded(api(cache, PATIENCE).oneshot(write("last"))).await.unwrap();
        assert_eq!(
            (registry.look_ups(NAME), cache.generation().unwrap().get()),
            (2, 2),
            "{number}: by the first alone"
        );
        assert_eq!((server.executed("/sibling"), server.connections_accepted()), (0, 2), "{number}");
    }
}
