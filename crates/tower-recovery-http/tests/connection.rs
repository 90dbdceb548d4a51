//! Handles of one connection: turns, hand-back, and what is left of a connection that ends.

mod support;

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{future::join_all, stream};
use http::{Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use tokio::time::timeout;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, Failure, HandleCache, ReadOnlyRetryLayer, ReresolveLayer,
};
use tower_recovery_http::{
    CollectLayer, CollectedBody, ConnectLayer, ConnectionHandle, HttpClassifier, HttpRules, HttpStack, Origin,
    OriginHandle, ReadRoutes, RepeatableBody, SentOnce, Transport,
};
use tower_recovery_test::{Act, FaultyServer, Registry};

use self::support::{NAME, call, read, registry_of, request, server, settle, write};

/// No wait in these tests is longer.
const BOUND: Duration = Duration::from_secs(30);

/// The stack over connections of their own.
fn stack<RequestBody>(
    registry: &Registry<Origin>,
    rules: HttpRules<RequestBody>,
) -> impl Service<Request<RequestBody>, Response = Response<CollectedBody>, Error = Failure, Future: Send>
+ Clone
+ Send
+ use<RequestBody>
where
    RequestBody: RepeatableBody + Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let handles = ServiceBuilder::new().layer(ConnectLayer::new(Transport::new())).service(registry.resolver());
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules))
        .layer(ReresolveLayer::new(HandleCache::new(handles, NAME)))
        .layer(ClassifyLayer::new(HttpClassifier::new()))
        .layer(AttemptTimeoutLayer::new(BOUND))
        .layer(CollectLayer::new(1 << 20))
        .service(Dispatch)
}

fn copying() -> HttpRules<Full<Bytes>> {
    HttpRules::new(ReadRoutes::safe())
}

/// A body that flows once.
type Streamed = SentOnce<UnsyncBoxBody<Bytes, Infallible>>;

fn streamed(id: &str) -> Request<Streamed> {
    let frames = ["a ", "stream"].map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes()))));
    request(Method::POST, "/commit", id).map(|_| SentOnce::new(StreamBody::new(stream::iter(frames)).boxed_unsync()))
}

/// Connects to the server that the registry names.
async fn connected(registry: &Registry<Origin>) -> ConnectionHandle<Full<Bytes>> {
    let handles = ServiceBuilder::new().layer(ConnectLayer::new(Transport::new())).service(registry.resolver());
    handles.oneshot(NAME).await.expect("somebody listens").handle
}

#[tokio::test]
async fn b04_a_connection_that_has_ended_hands_a_write_back_and_it_is_done_once_on_the_next() {
    let server = FaultyServer::builder().script([Act::AnswerThenClose]).start().await.unwrap();
    let registry = registry_of(&server).await;
    let stack = stack::<Streamed>(&registry, HttpRules::new(ReadRoutes::safe()));
    stack.clone().oneshot(streamed("first")).await.unwrap();
    timeout(BOUND, server.wait_until_open(0)).await.expect("the server closes its connection");
    settle().await;

    stack.oneshot(streamed("second")).await.unwrap();
    assert_eq!((server.executed("second"), server.requests_read(), server.connections_accepted()), (1, 2, 2));
    assert_eq!(registry.look_ups(NAME), 2, "one resolve an eviction");
}

#[tokio::test]
async fn b04_the_request_comes_back_as_it_was_given() {
    let server = server().await.unwrap();
    let registry = registry_of(&server).await;
    let mut handle = connected(&registry).await;
    handle.ready().await.unwrap();
    // What a caller sees who was ready a moment before: the connection's task has ended by the time of the call.
    server.refuse().await;
    settle().await;
    let mut given = write("unsent");
    *given.uri_mut() = "http://artifact-manager/commit?x=1".parse().unwrap();
    let failure = Failure::recover(handle.call(given).await.unwrap_err());
    assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::NeverSent), true));
    let unsent = failure.take_unsent::<Request<Full<Bytes>>>().expect("it is handed back");
    assert_eq!((unsent.uri().to_string().as_str(), unsent.headers().len()), ("http://artifact-manager/commit?x=1", 1));
    assert_eq!(server.executed("unsent"), 0);
}

#[tokio::test]
async fn callers_of_one_http1_connection_take_turns() {
    let server = server().await.unwrap();
    let registry = registry_of(&server).await;
    let stack = stack(&registry, copying());
    let ids: Vec<_> = (0..50).map(|number| number.to_string()).collect();
    let calls = ids.iter().map(|id| stack.clone().oneshot(write(id)));
    for answer in timeout(BOUND, join_all(calls)).await.unwrap() {
        answer.unwrap();
    }
    assert!(ids.iter().all(|id| server.executed(id) == 1));
    assert_eq!((server.connections_accepted(), registry.look_ups(NAME)), (1, 1));
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_connection_and_takes_nobody_with_it() {
    let server = FaultyServer::builder().script([Act::FreezeThenRun]).start().await.unwrap();
    let registry = registry_of(&server).await;
    let stack = stack(&registry, copying());
    let frozen = tokio::spawn(stack.clone().oneshot(write("frozen")));
    timeout(BOUND, server.wait_until_held(1)).await.unwrap();
    let waiting = tokio::spawn(stack.clone().oneshot(write("waiting")));
    frozen.abort();
    timeout(BOUND, waiting).await.unwrap().unwrap().unwrap();
    timeout(BOUND, server.wait_until_open(1)).await.expect("the connection of the dropped call is closed");
    assert_eq!((server.executed("frozen"), server.executed("waiting"), server.connections_accepted()), (0, 1, 2));
}

#[tokio::test]
async fn a_write_whose_connection_dies_after_it_was_read_may_have_been_executed_and_is_not_repeated() {
    let server = FaultyServer::builder().script([Act::RunThenReset]).start().await.unwrap();
    let registry = registry_of(&server).await;
    let mut stack = stack(&registry, copying());
    let failure = call(&mut stack, write("once")).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    call(&mut stack, read("next")).await.unwrap();
    assert_eq!((server.executed("once"), server.executed("next")), (1, 1));
}

#[tokio::test]
async fn nobody_to_connect_to_is_never_sent_and_the_registry_is_asked_anew() {
    let nobody = FaultyServer::refused_address().unwrap();
    let server = server().await.unwrap();
    let registry = Registry::new();
    registry.register(NAME, "dead", format!("http://{}", nobody.address()).parse().unwrap());
    let mut stack = stack(&registry, copying());
    let failure = call(&mut stack, write("first")).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3));
    support::register(&registry, "alive", &server);
    call(&mut stack, write("second")).await.unwrap();
    assert_eq!((server.executed("first"), server.executed("second")), (0, 1));
}

#[test]
fn handles_and_their_stacks_cross_threads() {
    fn crosses<Shared: Clone + Send + Sync + 'static>() {}
    crosses::<ConnectionHandle<Full<Bytes>>>();
    crosses::<ConnectionHandle<Streamed>>();
    crosses::<OriginHandle<Streamed>>();
    crosses::<HttpStack<Streamed>>();
}
