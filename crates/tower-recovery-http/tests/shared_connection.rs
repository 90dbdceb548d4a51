//! What callers of one connection do to each other.

#![cfg(feature = "http2")]

mod support;

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, header};
use http_body_util::Full;
use tokio::{
    net::TcpListener,
    select,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, Failure, HandleCache, ReadOnlyRetryLayer, ReresolveLayer,
    Verdict,
};
use tower_recovery_http::{
    CollectLayer, ConnectLayer, ConnectionHandle, HttpClassifier, HttpRules, Origin, OriginHandle, Protocol,
    ReadRoutes, Transport, TunnelRefused,
};
use tower_recovery_test::{Act, FaultyServer, Registry, faulty::RequestContext};

use self::support::{NAME, registry_of, settle};

/// No wait in these tests is longer.
const BOUND: Duration = Duration::from_secs(30);

type Body = Full<Bytes>;

fn post(path: &str) -> Request<Body> {
    Request::post(path).body(Full::from("a write")).expect("a request")
}

fn handles(registry: &Registry<Origin>, protocol: Protocol) -> Connecting {
    ServiceBuilder::new().layer(ConnectLayer::new(Transport::new().protocol(protocol))).service(registry.resolver())
}

type Connecting = tower_recovery_http::connection::Connect<tower_recovery_test::RegistryResolver<Origin>, Body>;

async fn connected(address: SocketAddr) -> ConnectionHandle<Body> {
    let registry = Registry::new();
    registry.register(NAME, "first", format!("http://{address}").parse().expect("an origin"));
    handles(&registry, Protocol::Http2).oneshot(NAME).await.expect("somebody listens").handle
}

/// Law 9: the connection is everybody's, and one permit a caller would be more than the budget has.
#[tokio::test]
async fn a_dropped_call_over_a_connection_of_http1_takes_nobody_down() {
    let script = |request: &RequestContext| if request.path == "/hang" { Act::FreezeThenRun } else { Act::Answer };
    let server = FaultyServer::builder().script(script).start().await.unwrap();
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(HttpRules::<Body>::new(ReadRoutes::safe())))
        .layer(ReresolveLayer::new(HandleCache::new(handles(&registry_of(&server).await, Protocol::Http1), NAME)))
        .layer(ClassifyLayer::new(HttpClassifier::new()))
        .layer(AttemptTimeoutLayer::new(BOUND))
        .layer(CollectLayer::new(1 << 20))
        .service(Dispatch);
    let dropped = tokio::spawn(stack.clone().oneshot(post("/hang")));
    timeout(BOUND, server.wait_until_held(1)).await.unwrap();
    let calls: Vec<_> = (0..30).map(|_| tokio::spawn(stack.clone().oneshot(post("/commit")))).collect();
    settle().await;
    dropped.abort();
    let outcomes = timeout(BOUND, join_all(calls)).await.unwrap();
    let failed: Vec<_> = outcomes.into_iter().filter_map(|outcome| outcome.unwrap().err()).collect();
    assert!(failed.is_empty(), "{} of 30 failed, the first by {:?}", failed.len(), failed[0]);
    assert_eq!(server.connections_accepted(), 2);
}

/// A clone that is kept after its turn came to nothing keeps nobody waiting.
#[tokio::test]
async fn a_turn_that_a_refused_request_took_is_given_up() {
    let server = support::server().await.unwrap();
    let mut first = handles(&registry_of(&server).await, Protocol::Http1).oneshot(NAME).await.unwrap().handle;
    let mut second = first.clone();
    let connect = Request::connect("backend:80").body(Body::default()).unwrap();
    first.ready().await.unwrap().call(connect).await.unwrap_err();
    timeout(BOUND, second.ready()).await.unwrap().unwrap();
}

/// A limit of hyper 1.12, told under `Cancel safety`: it keeps a request that waits for a stream, and sends it when there is one. A hyper that does not any
/// more fails this test, and then the documentation is to be changed.
#[tokio::test]
async fn a_call_that_is_dropped_before_it_has_a_stream_of_http2_is_sent_once_all_the_same() {
    let (address, mut seen, order) = one_stream_at_a_time().await;
    let handle = connected(address).await;
    let first = tokio::spawn(handle.clone().oneshot(post("/first")));
    assert_eq!(timeout(BOUND, seen.recv()).await.unwrap().unwrap().path, "/first");
    let second = tokio::spawn(handle.clone().oneshot(post("/second")));
    settle().await;
    second.abort();
    settle().await;
    order.send(Order::Answer).unwrap();
    timeout(BOUND, first).await.unwrap().unwrap().unwrap();
    let _third = tokio::spawn(handle.oneshot(post("/third")));
    let next = timeout(BOUND, seen.recv()).await.unwrap().unwrap();
    assert_eq!((next.path.as_str(), next.body.as_str()), ("/second", "a write"));
}

/// The classifier's table: a GOAWAY indicts the handle. hyper's word for the request that waits is "dispatch task is gone", a user's error.
#[tokio::test]
async fn a_goaway_before_a_call_has_a_stream_indicts_the_handle() {
    let (address, mut seen, order) = one_stream_at_a_time().await;
    let handle = connected(address).await;
    let _first = tokio::spawn(handle.clone().oneshot(post("/first")));
    timeout(BOUND, seen.recv()).await.unwrap().unwrap();
    let second = tokio::spawn(handle.oneshot(post("/second")));
    settle().await;
    order.send(Order::GoAway).unwrap();
    let error = timeout(BOUND, second).await.unwrap().unwrap().unwrap_err();
    let failure = Failure::recover(error);
    assert_eq!(failure.verdict(), Verdict::maybe_sent().stale(), "{failure:?}");
    assert!(failure.find::<hyper::Error>().is_some_and(hyper::Error::is_user), "{failure:?}");
}

/// RFC 9113 §8.3.1: a `Host` that differs from `:authority` makes a request malformed.
#[tokio::test]
async fn a_host_that_the_caller_set_is_the_authority_of_http2_and_the_connection_goes_to_the_origin() {
    for over_a_pool in [false, true] {
        let (address, mut seen, _order) = one_stream_at_a_time().await;
        let mut request = post("/");
        request.headers_mut().insert(header::HOST, "artifacts.example".parse().unwrap());
        let _call = if over_a_pool {
            let transport = Transport::new().protocol(Protocol::Http2);
            let origin = format!("http://{address}").parse().unwrap();
            tokio::spawn(OriginHandle::<Body>::new(origin, &transport).unwrap().oneshot(request))
        } else {
            tokio::spawn(connected(address).await.oneshot(request))
        };
        let seen = timeout(BOUND, seen.recv()).await.unwrap().unwrap();
        assert_eq!((seen.authority.as_str(), seen.host), ("artifacts.example", None));
    }
}

/// A CONNECT names another host than the origin, and would lose it.
#[tokio::test]
async fn a_tunnel_is_refused_before_anything_is_sent() {
    let server = support::server().await.unwrap();
    let registry = registry_of(&server).await;
    let connect = || Request::connect("backend:80").body(Body::default()).unwrap();
    let connection = handles(&registry, Protocol::Http1).oneshot(NAME).await.unwrap().handle;
    let pool = OriginHandle::<Body>::new(server.origin().parse().unwrap(), &Transport::new()).unwrap();
    let errors = [connection.oneshot(connect()).await.unwrap_err(), pool.oneshot(connect()).await.unwrap_err()];
    for failure in errors.map(Failure::recover) {
        assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true));
        assert!(failure.find::<TunnelRefused>().is_some());
    }
    assert_eq!(server.requests_read(), 0);
}

struct Seen {
    path: String,
    authority: String,
    host: Option<String>,
    body: String,
}

enum Order {
    Answer,
    GoAway,
}

/// A server of HTTP/2 that answers the first request when it is told to, and others not at all.
async fn one_stream_at_a_time() -> (SocketAddr, UnboundedReceiver<Seen>, UnboundedSender<Order>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the other side goes on");
    let address = listener.local_addr().expect("the other side goes on");
    let (saw, seen) = unbounded_channel();
    let (order, mut ordered) = unbounded_channel();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("the other side goes on");
        let mut builder = h2::server::Builder::new();
        let mut connection =
            builder.max_concurrent_streams(1).handshake::<_, Bytes>(socket).await.expect("the other side goes on");
        let mut unanswered = Vec::new();
        loop {
            select! {
                accepted = connection.accept() => {
                    let Some(Ok((request, respond))) = accepted else { return };
                    unanswered.push(respond);
                    tokio::spawn(see(request, saw.clone()));
                }
                Some(order) = ordered.recv() => match order {
                    Order::Answer => drop(unanswered.remove(0).send_response(Response::new(()), true).expect("the other side goes on")),
                    Order::GoAway => connection.graceful_shutdown(),
                }
            }
        }
    });
    (address, seen, order)
}

async fn see(request: Request<h2::RecvStream>, saw: UnboundedSender<Seen>) {
    let (parts, mut body) = request.into_parts();
    let mut bytes = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        bytes.extend_from_slice(&data);
    }
    let _ = saw.send(Seen {
        path: parts.uri.path().to_owned(),
        authority: parts.uri.authority().expect("the other side goes on").to_string(),
        host: parts.headers.get(header::HOST).map(|host| host.to_str().expect("the other side goes on").to_owned()),
        body: String::from_utf8(bytes).expect("the other side goes on"),
    });
}
