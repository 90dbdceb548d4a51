//! What looks like a proof, and is one about something else.

#![cfg(feature = "http2")]

use std::{
    convert::Infallible,
    error::Error,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::unbounded_channel,
    time::timeout,
};
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{
    AttemptTimeoutLayer, Classify, ClassifyLayer, Delivery, Dispatch, HandleCache, ReadOnlyRetryLayer, ReresolveLayer,
    Resolved, Verdict,
};
use tower_recovery_http::{CollectLayer, HttpClassifier, HttpRules, OriginHandle, Protocol, ReadRoutes, Transport};
use tower_recovery_test::{Act, FaultyServer, faulty::ErrorCode};

/// No wait in these tests is longer.
const BOUND: Duration = Duration::from_secs(30);

type Body = Full<Bytes>;

fn post(path: &str) -> Request<Body> {
    Request::post(path).body(Full::from("a write")).expect("a request")
}

fn verdict(error: &(dyn Error + 'static)) -> Verdict {
    Classify::<Response<()>>::error(&HttpClassifier::new(), error)
}

/// Law 1. `REFUSED_STREAM` of the tunnel stands inside an `io::Error`. Taken for the word of the server at its end, it executed a write three times.
#[tokio::test]
async fn a_tunnel_that_is_refused_after_the_execution_proves_nothing_of_the_request_in_it() {
    let executed = Arc::new(AtomicUsize::new(0));
    let proxy = refusing_tunnel(Arc::clone(&executed)).await;
    let resolver = service_fn(move |_: &'static str| async move {
        let handle = service_fn(move |request: Request<Body>| through_tunnel(proxy, request));
        Ok::<_, Infallible>(Resolved::new("through the tunnel", handle))
    });
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(HttpRules::<Body>::new(ReadRoutes::safe())))
        .layer(ReresolveLayer::new(HandleCache::new(resolver, "name")))
        .layer(ClassifyLayer::new(HttpClassifier::new()))
        .layer(AttemptTimeoutLayer::new(BOUND))
        .layer(CollectLayer::new(1 << 20))
        .service(Dispatch);
    let failure = timeout(BOUND, stack.oneshot(post("/commit"))).await.unwrap().unwrap_err();
    assert_eq!((executed.load(Ordering::SeqCst), failure.delivery()), (1, Some(Delivery::MaybeSent)));
}

async fn through_tunnel(proxy: SocketAddr, request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
    let socket = TokioIo::new(TcpStream::connect(proxy).await?);
    let (mut outer, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), socket).await?;
    tokio::spawn(connection);
    let response = outer.send_request(Request::connect("backend:80").body(Empty::<Bytes>::new())?).await?;
    let (mut inner, connection) = hyper::client::conn::http1::handshake(hyper::upgrade::on(response).await?).await?;
    tokio::spawn(connection);
    Ok(inner.send_request(request).await?)
}

/// A proxy of CONNECT over HTTP/2. What is behind it executes, and then the proxy refuses the stream, as haproxy does.
async fn refusing_tunnel(executed: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.expect("the other side goes on");
            let executed = Arc::clone(&executed);
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(socket).await.expect("the other side goes on");
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let executed = Arc::clone(&executed);
                    tokio::spawn(async move {
                        let mut send = respond.send_response(Response::new(()), false).expect("the other side goes on");
                        let (mut body, mut bytes) = (request.into_body(), Vec::new());
                        while !bytes.ends_with(b"a write") {
                            let Some(Ok(data)) = body.data().await else { return };
                            bytes.extend_from_slice(&data);
                        }
                        executed.fetch_add(1, Ordering::SeqCst);
                        send.send_reset(h2::Reason::REFUSED_STREAM);
                    });
                }
            });
        }
    });
    address
}

/// Law 1. A stream can be refused after its answer has begun, and then it was executed. Whoever reads a body by himself has hyper's bare error.
#[tokio::test]
async fn a_stream_that_is_refused_after_its_head_is_no_proof() {
    let act = Act::PartialBodyThenResetStream { sent: 2, code: ErrorCode::REFUSED_STREAM };
    let application = |_: &Request<Bytes>| Response::new(Bytes::from_static(b"done"));
    let server = FaultyServer::builder().http2().application(application).script([act]).start().await.unwrap();
    let transport = Transport::new().protocol(Protocol::Http2);
    let handle = OriginHandle::<Body>::new(server.origin().parse().unwrap(), &transport).unwrap();
    let response = timeout(BOUND, handle.oneshot(post("/commit"))).await.unwrap().unwrap();
    let error = timeout(BOUND, response.into_body().collect()).await.unwrap().unwrap_err();
    assert_eq!(verdict(&error), Verdict::maybe_sent(), "{error:?}");
    assert_eq!(server.executions().len(), 1);
}

/// Law 1. A handle that awaits an upgrade (a websocket, say) after the head of the answer: hyper's word is "cancelled", too.
#[tokio::test]
async fn an_upgrade_that_is_cancelled_after_the_head_is_no_proof() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (close, mut closing) = unbounded_channel();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert_ne!(socket.read(&mut [0; 4096]).await.unwrap(), 0);
        let head = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
        socket.write_all(head).await.unwrap();
        closing.recv().await
    });
    let socket = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(socket).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::post("/").header("connection", "upgrade").header("upgrade", "x").body(body).unwrap();
    let response = timeout(BOUND, sender.send_request(request)).await.unwrap().unwrap();
    close.send(()).unwrap();
    let error = timeout(BOUND, hyper::upgrade::on(response)).await.unwrap().unwrap_err();
    assert_eq!(verdict(&error).delivery(), Some(Delivery::MaybeSent));
}
