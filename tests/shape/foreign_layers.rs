//! tower's own layers above the stack and between its layers: `Buffer > Timeout > ReadOnlyRetry > ConcurrencyLimit > Reresolve >
//! Timeout > Classify > ConcurrencyLimit > AttemptTimeout > Dispatch`, over hyper-util's client. Both limits are 1, so that an attempt
//! that did not give its slot back would hang its call.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::sync::Notify;
use tower::{
    BoxError, Service, ServiceBuilder, ServiceExt, buffer::BufferLayer, limit::ConcurrencyLimitLayer,
    timeout::TimeoutLayer, timeout::error::Elapsed, util::BoxCloneSyncService,
};
use tower_recovery::{
    AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, Failure, ReadOnlyRetryLayer, ReresolveLayer,
};

use super::{
    http_server::{HangsUp, HttpServer},
    legacy_client::{HttpRules, HyperErrors, Origin, get, post, text},
    support::{Refusing, Registry},
};

/// Both timeouts are far away, so that none fires before a test moves the clock.
const ATTEMPT: Duration = Duration::from_secs(3600);
const CALL: Duration = Duration::from_secs(3 * 3600);

/// The stack below its buffer.
type Buffered = BoxCloneSyncService<Request<Full<Bytes>>, Response<Incoming>, BoxError>;

fn stack(registry: &Registry<Origin>) -> Buffered {
    let stack = ServiceBuilder::new()
        .layer(BufferLayer::new(8))
        .layer(TimeoutLayer::new(CALL))
        .layer(ReadOnlyRetryLayer::new(HttpRules))
        .layer(ConcurrencyLimitLayer::new(1))
        .layer(ReresolveLayer::new(registry.cache()))
        .layer(TimeoutLayer::new(ATTEMPT))
        .layer(ClassifyLayer::new(HyperErrors))
        .layer(ConcurrencyLimitLayer::new(1))
        .layer(AttemptTimeoutLayer::new(2 * CALL))
        .service(Dispatch);
    Buffered::new(stack)
}

/// A server that reads a request and never answers it (and hangs up on any other), and the event of its having read one.
async fn frozen() -> (HttpServer, Arc<Notify>) {
    let (has_read, is_first) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(true)));
    let reader = Arc::clone(&has_read);
    let server = HttpServer::start(move |_| {
        let freezes = is_first.swap(false, Ordering::SeqCst);
        reader.notify_one();
        async move { if freezes { pending().await } else { Err(HangsUp) } }
    })
    .await;
    (server, has_read)
}

/// Lets this much time pass at once, when the server has read the request.
async fn pass(time: Duration, has_read: &Notify) {
    has_read.notified().await;
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_write_that_meets_a_refused_connection_is_done_once_by_the_next_instance() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);

    let response = stack(&registry).oneshot(post("/commits")).await.unwrap();

    assert_eq!(text(response).await, "done");
    assert_eq!(alive.executed(), ["POST /commits once"]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}

#[tokio::test]
async fn a_write_that_a_server_has_read_is_never_sent_again_and_the_buffer_lives_on() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);
    let mut stack = stack(&registry);

    let error = stack.ready().await.unwrap().call(post("/commits")).await.unwrap_err();

    let failure = Failure::recover(error);
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert_eq!(dying.executed(), ["POST /commits once"]);
    assert!(alive.executed().is_empty());

    stack.ready().await.unwrap().call(post("/commits")).await.unwrap();
    assert_eq!(alive.executed(), ["POST /commits once"], "the next call finds the next instance");
}

#[tokio::test]
async fn a_read_that_ran_into_a_foreign_timeout_is_repeated_on_the_next_instance() {
    let ((frozen, has_read), alive) = (frozen().await, HttpServer::answering("listed").await);
    let registry = Registry::naming([Origin::at(frozen.address()), Origin::at(alive.address())]);

    let (response, ()) = tokio::join!(stack(&registry).oneshot(get("/files")), pass(ATTEMPT, &has_read));

    assert_eq!(text(response.unwrap()).await, "listed");
    assert_eq!((frozen.executed(), alive.executed()), (vec!["GET /files".to_owned()], vec!["GET /files".to_owned()]));
    assert_eq!(registry.lookups(), 2);
}

#[tokio::test]
async fn a_write_that_ran_into_a_foreign_timeout_is_never_sent_again() {
    let ((frozen, has_read), alive) = (frozen().await, HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(frozen.address()), Origin::at(alive.address())]);

    let (outcome, ()) = tokio::join!(stack(&registry).oneshot(post("/commits")), pass(ATTEMPT, &has_read));

    let failure = Failure::recover(outcome.unwrap_err());
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(failure.find::<Elapsed>().is_some(), "the timeout stands behind it");
    assert_eq!(frozen.executed(), ["POST /commits once"]);
    assert!(alive.executed().is_empty());
}

#[tokio::test]
async fn a_timeout_above_the_stack_proves_nothing_and_evicts_nothing() {
    let (frozen, has_read) = frozen().await;
    let registry = Registry::naming([Origin::at(frozen.address())]);
    let cache = registry.cache();
    let stack = ServiceBuilder::new()
        .layer(TimeoutLayer::new(CALL))
        .layer(ReadOnlyRetryLayer::new(HttpRules))
        .layer(ReresolveLayer::new(cache.clone()))
        .layer(ClassifyLayer::new(HyperErrors))
        .layer(AttemptTimeoutLayer::new(2 * CALL))
        .service(Dispatch);

    let (outcome, ()) = tokio::join!(stack.oneshot(post("/commits")), pass(CALL, &has_read));

    assert_eq!(Failure::recover(outcome.unwrap_err()).delivery(), Some(Delivery::MaybeSent));
    assert!(cache.generation().is_some(), "what is dropped from above never reaches the handle");
}

#[tokio::test]
async fn a_buffer_lives_on_when_the_attempts_of_a_call_are_spent_and_when_the_registry_is_down() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering("done").await);
    let instances = [dead.address(), dead.address(), dead.address(), alive.address()];
    let registry = Registry::naming(instances.map(Origin::at)).down_at_first();
    let mut stack = stack(&registry);

    let error = stack.ready().await.unwrap().call(post("/commits")).await.unwrap_err();

    let failure = Failure::recover(error);
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3));
    assert!(failure.is_exhausted());
    stack.ready().await.unwrap().call(post("/commits")).await.unwrap();
    assert_eq!(alive.executed(), ["POST /commits once"]);
}

#[tokio::test]
async fn calls_at_the_same_time_share_one_re_resolve_and_one_slot() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);
    let stack = stack(&registry);

    let calls = (0..8).map(|_| stack.clone().oneshot(post("/commits")));
    let outcomes = futures_util::future::join_all(calls).await;

    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(alive.executed(), vec!["POST /commits once"; 8]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}
