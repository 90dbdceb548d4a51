//! Bodies that flow, through whole stacks: kept and sent again, too long to be kept, and handed back.

mod support;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use tokio::task::yield_now;
use tower::{ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, ClassifyLayer, Delivery, Dispatch, GiveUp, HandleCache, ReadOnlyRetryLayer,
    ReresolveLayer, Resolved,
};
use tower_recovery_http::{
    CollectLayer, ConnectLayer, ConnectionHandle, HttpClassifier, HttpRules, Protocol, ReadRoutes, ReplayableBody,
    SentOnce, Transport,
};
use tower_recovery_test::{
    Act, CuttingProxy, FaultyServer, Registry,
    cutting::{Direction, Disturbance, Plan},
};

use self::support::{NAME, bounded, door, registry_of, request};

const PARTS: usize = 40;

fn part(number: usize) -> Bytes {
    (0..1000).map(|byte| (number * 31 + byte) as u8).collect()
}

fn whole() -> Bytes {
    (0..PARTS).flat_map(part).collect()
}

/// Forty parts, one after the other, and nobody knows how many will come.
fn flowing() -> impl Body<Data = Bytes, Error = Infallible> + Send + 'static {
    StreamBody::new(stream::iter((0..PARTS).map(|number| Ok(Frame::data(part(number))))))
}

fn search<Body>(body: Body) -> Request<Body> {
    request(Method::POST, "/search", "search").map(|_| body)
}

fn searching() -> ReadRoutes {
    ReadRoutes::listed_only().read(Method::POST, "/search").expect("the route is well formed")
}

/// The bodies of all executions.
type Bodies = Arc<Mutex<Vec<Bytes>>>;

async fn logging(http2: bool, acts: Vec<Act>) -> (FaultyServer, Bodies) {
    let bodies = Bodies::default();
    let log = Arc::clone(&bodies);
    let server = FaultyServer::builder()
        .application(move |request| {
            log.lock().expect("no holder panics").push(request.body().clone());
            Response::new(Bytes::from_static(b"done"))
        })
        .script(acts);
    let server = if http2 { server.http2() } else { server };
    (server.start().await.expect("a port is free"), bodies)
}

#[tokio::test]
async fn a_streamed_read_that_is_cut_in_its_middle_arrives_whole_by_the_next_attempt() {
    let (server, bodies) = logging(false, Vec::new()).await;
    let cut = Plan::pass().after(Direction::ToServer, (whole().len() / 2) as u64, Disturbance::Reset);
    let proxy = CuttingProxy::before(server.address()).script([cut]).start().await.unwrap();
    let registry = Registry::new();
    registry.register(NAME, "first", proxy.origin().parse().unwrap());

    let api = door(&registry).reads(searching()).build().unwrap();
    let body: ReplayableBody = ReplayableBody::boxed(flowing(), whole().len());
    bounded(api.oneshot(search(body))).await.unwrap();
    assert_eq!(*bodies.lock().unwrap(), [whole()], "the first half alone is no request");
    assert_eq!((proxy.connections_accepted(), proxy.cuts()), (2, 1));
}

#[tokio::test]
async fn a_streamed_read_that_was_executed_is_repeated_byte_by_byte() {
    let (server, bodies) = logging(false, vec![Act::RunThenReset]).await;
    let api = door(&registry_of(&server).await).reads(searching()).build().unwrap();
    let body: ReplayableBody = ReplayableBody::boxed(flowing(), whole().len());
    bounded(api.oneshot(search(body))).await.unwrap();
    assert_eq!(*bodies.lock().unwrap(), [whole(), whole()]);
}

#[tokio::test]
async fn a_streamed_read_over_the_bound_is_sent_once_and_says_why() {
    let (server, bodies) = logging(false, vec![Act::RunThenReset]).await;
    let api = door(&registry_of(&server).await).reads(searching()).build().unwrap();
    let body: ReplayableBody = ReplayableBody::boxed(flowing(), whole().len() - 1);
    let failure = bounded(api.oneshot(search(body))).await.unwrap_err();
    assert_eq!(failure.gave_up(), Some(GiveUp::IncompleteCopy));
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(!failure.is_exhausted(), "who has the body elsewhere may send it again");
    assert_eq!((bodies.lock().unwrap().clone(), server.requests_read()), (vec![whole()], 1));
}

/// Whether it is kept for a copy or not: what hyper did not write comes back, and flows on the next connection from its first byte.
#[tokio::test]
async fn a_streamed_write_that_is_handed_back_is_done_once_on_the_next_connection() {
    let protocols = [
        Protocol::Http1,
        #[cfg(feature = "http2")]
        Protocol::Http2,
    ];
    for protocol in protocols {
        type Flowing = SentOnce<UnsyncBoxBody<Bytes, Infallible>>;

        let (server, bodies) = logging(protocol != Protocol::Http1, Vec::new()).await;
        let registry = registry_of(&server).await;
        let connections = Arc::new(Mutex::new(Vec::new()));
        let opened = Arc::clone(&connections);
        let handles = ServiceBuilder::new()
            .map_response(move |found: Resolved<ConnectionHandle<Flowing>>| {
                opened.lock().expect("no holder panics").push(found.handle.clone());
                found
            })
            .layer(ConnectLayer::new(Transport::new().protocol(protocol)))
            .service(registry.resolver());
        let stack = ServiceBuilder::new()
            .layer(ReadOnlyRetryLayer::new(HttpRules::new(searching())))
            .layer(ReresolveLayer::new(HandleCache::new(handles, NAME)))
            .layer(ClassifyLayer::new(HttpClassifier::new()))
            .layer(AttemptTimeoutLayer::new(CallTiming::default().attempt_timeout()))
            .layer(CollectLayer::new(1 << 20))
            .service(Dispatch);
        let upload = |id: &str| request(Method::POST, "/commit", id).map(|_| SentOnce::new(flowing().boxed_unsync()));
        bounded(stack.clone().oneshot(upload("first"))).await.unwrap();

        server.refuse().await;
        server.accept_again().unwrap();
        let first = connections.lock().unwrap()[0].clone();
        bounded(async {
            while first.clone().ready().await.is_ok() {
                yield_now().await;
            }
        })
        .await;
        bounded(stack.oneshot(upload("second"))).await.unwrap();
        assert_eq!((server.executed("first"), server.executed("second")), (1, 1), "{protocol:?}");
        assert_eq!(
            (bodies.lock().unwrap().clone(), registry.look_ups(NAME)),
            (vec![whole(), whole()], 2),
            "{protocol:?}"
        );
    }
}
