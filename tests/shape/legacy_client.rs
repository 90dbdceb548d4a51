//! `http::Request<Full<Bytes>>` over hyper-util's legacy client: a handle is an origin **and a client of its own**, the copy is a
//! clone, and the response's body stays the transport's own, streamed.

use std::{
    error::Error,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method, Request, Response, Uri, uri::Authority};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::{
    client::legacy::{self, Client, ResponseFuture, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::sync::Notify;
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    Access, AttemptTimeoutLayer, Classify, ClassifyLayer, Delivery, Dispatch, ReadOnlyRetryLayer, RequestRules,
    ReresolveLayer, Resolved, Verdict, sources,
};

use super::{
    http_server::HttpServer,
    support::{Refusing, Registry, Stack, erase},
};

/// An origin with a pool of its own: evicting it leaves its pooled connections behind.
#[derive(Clone)]
pub(crate) struct Origin {
    authority: Authority,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Origin {
    pub(crate) fn at(address: SocketAddr) -> Resolved<Self> {
        let authority = Authority::try_from(address.to_string()).expect("a socket address is an authority");
        let client = Client::builder(TokioExecutor::new()).build_http();
        Resolved::new(address.to_string(), Self { authority, client })
    }
}

impl Service<Request<Full<Bytes>>> for Origin {
    type Response = Response<Incoming>;
    type Error = legacy::Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), legacy::Error>> {
        self.client.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Full<Bytes>>) -> ResponseFuture {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri = Uri::builder().scheme("http").authority(self.authority.clone()).path_and_query(path).build();
        *request.uri_mut() = uri.expect("all three parts are there");
        self.client.call(request)
    }
}

/// Safe methods are reads; a body of known bytes is copied by a clone.
#[derive(Clone, Debug)]
pub(crate) struct HttpRules;

impl RequestRules<Request<Full<Bytes>>> for HttpRules {
    type Method = Method;

    fn method(&self, request: &Request<Full<Bytes>>) -> Method {
        request.method().clone()
    }

    fn access(&self, _: &Request<Full<Bytes>>, method: &Method) -> Access {
        if method.is_safe() { Access::Read } else { Access::Write }
    }

    fn copy(&self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }

    fn silence(&self, _: &mut Request<Full<Bytes>>) {}
}

/// A connection that was never made proves that nothing was sent; any other error of the transport proves nothing.
#[derive(Clone, Debug)]
pub(crate) struct HyperErrors;

impl<Body> Classify<Response<Body>> for HyperErrors {
    fn response(&self, _: &Response<Body>) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        for error in sources(error) {
            match error.downcast_ref::<legacy::Error>() {
                Some(error) if error.is_connect() => return Verdict::never_sent().stale(),
                Some(_) => return Verdict::maybe_sent().stale(),
                None if error.is::<hyper::Error>() => return Verdict::maybe_sent().stale(),
                None => {}
            }
        }
        Verdict::unrecognised()
    }
}

fn stack(registry: &Registry<Origin>) -> impl Stack<Request<Full<Bytes>>, Response<Incoming>> {
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(HttpRules))
        .layer(ReresolveLayer::new(registry.cache()))
        .layer(ClassifyLayer::new(HyperErrors))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch)
}

pub(crate) fn post(path: &'static str) -> Request<Full<Bytes>> {
    Request::post(path).body(Full::from("once")).expect("a path is a URI")
}

pub(crate) fn get(path: &'static str) -> Request<Full<Bytes>> {
    Request::get(path).body(Full::default()).expect("a path is a URI")
}

pub(crate) async fn text(response: Response<Incoming>) -> Bytes {
    response.into_body().collect().await.expect("the body is whole").to_bytes()
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
async fn a_write_that_a_server_has_read_is_never_sent_again() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);
    let mut stack = erase(stack(&registry));

    let failure = stack.ready().await.unwrap().call(post("/commits")).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(failure.find::<legacy::Error>().is_some(), "the original error stands behind it");
    assert_eq!(dying.executed(), ["POST /commits once"]);
    assert!(alive.executed().is_empty());
    assert_eq!(registry.lookups(), 1, "a failure that is not repeated waits for no look-up");

    stack.ready().await.unwrap().call(post("/commits")).await.unwrap();
    assert_eq!(alive.executed(), ["POST /commits once"], "the next call finds the next instance");
}

#[tokio::test]
async fn a_read_that_a_server_has_read_is_repeated_on_the_next_instance() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering("listed").await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);

    let response = stack(&registry).oneshot(get("/files")).await.unwrap();

    assert_eq!(text(response).await, "listed");
    assert_eq!((dying.executed(), alive.executed()), (vec!["GET /files".to_owned()], vec!["GET /files".to_owned()]));
    assert_eq!(registry.lookups(), 2);
}

#[tokio::test]
async fn a_response_is_handed_out_while_its_body_is_still_being_written() {
    let last_may_go = Arc::new(Notify::new());
    let held_back = Arc::clone(&last_may_go);
    let dead = Refusing::new();
    let alive = HttpServer::start(move |_| {
        let last_may_go = Arc::clone(&held_back);
        let last = stream::once(async move {
            last_may_go.notified().await;
            Ok(Frame::data(Bytes::from("last")))
        });
        let frames = stream::iter([Ok(Frame::data(Bytes::from("first")))]).chain(last);
        std::future::ready(Ok(Response::new(StreamBody::new(frames).boxed_unsync())))
    })
    .await;
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);

    let mut body = stack(&registry).oneshot(get("/events")).await.unwrap().into_body();

    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "first");
    last_may_go.notify_one();
    assert_eq!(body.collect().await.unwrap().to_bytes(), "last");
}
