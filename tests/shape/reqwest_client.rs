//! `reqwest::Request` over a `reqwest::Client` per handle, whose own retries are off: the copy is `try_clone`, and a body that
//! cannot be cloned makes a request that is sent once.

use std::{
    error::Error,
    net::SocketAddr,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use reqwest::{Body, Client, Method, Request, Response, Url};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    Access, AttemptTimeoutLayer, Classify, ClassifyLayer, Delivery, Dispatch, ReadOnlyRetryLayer, RequestRules,
    ReresolveLayer, Resolved, Verdict, sources,
};

use super::{
    http_server::HttpServer,
    support::{Refusing, Registry, Stack, erase},
};

/// A client of its own for one origin, to which it turns every request.
#[derive(Clone)]
pub(crate) struct Origin {
    address: SocketAddr,
    client: Client,
}

impl Origin {
    pub(crate) fn at(address: SocketAddr) -> Resolved<Self> {
        let client = Client::builder().retry(reqwest::retry::never()).no_proxy().build();
        Resolved::new(address.to_string(), Self { address, client: client.expect("there is no TLS to set up") })
    }
}

impl Service<Request> for Origin {
    type Response = Response;
    type Error = reqwest::Error;
    type Future = <Client as Service<Request>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), reqwest::Error>> {
        self.client.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let url = request.url_mut();
        url.set_ip_host(self.address.ip()).expect("an http URL has a host");
        url.set_port(Some(self.address.port())).expect("an http URL has a port");
        self.client.call(request)
    }
}

#[derive(Clone, Debug)]
struct ReqwestRules;

impl RequestRules<Request> for ReqwestRules {
    type Method = Method;

    fn method(&self, request: &Request) -> Method {
        request.method().clone()
    }

    fn access(&self, _: &Request, method: &Method) -> Access {
        if method.is_safe() { Access::Read } else { Access::Write }
    }

    fn copy(&self, request: &Request) -> Option<Request> {
        request.try_clone()
    }

    fn silence(&self, _: &mut Request) {}
}

/// A request that cannot be built fails the same way each time; one that met no connection was never sent.
#[derive(Clone, Debug)]
pub(crate) struct ReqwestErrors;

impl Classify<Response> for ReqwestErrors {
    fn response(&self, _: &Response) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        match sources(error).find_map(|error| error.downcast_ref::<reqwest::Error>()) {
            Some(error) if error.is_builder() => Verdict::never_sent().permanent(),
            Some(error) if error.is_connect() => Verdict::never_sent().stale(),
            Some(_) => Verdict::maybe_sent().stale(),
            None => Verdict::unrecognised(),
        }
    }
}

fn stack(registry: &Registry<Origin>) -> impl Stack<Request, Response> {
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(ReqwestRules))
        .layer(ReresolveLayer::new(registry.cache()))
        .layer(ClassifyLayer::new(ReqwestErrors))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch)
}

fn request(method: Method, path: &str, body: impl Into<Body>) -> Request {
    let url = Url::parse("http://artifacts.example").and_then(|url| url.join(path)).expect("a path joins a URL");
    let mut request = Request::new(method, url);
    *request.body_mut() = Some(body.into());
    request
}

#[tokio::test]
async fn a_write_that_meets_a_refused_connection_is_done_once_by_the_next_instance() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);

    let response = stack(&registry).oneshot(request(Method::POST, "/commits", "once")).await.unwrap();

    assert_eq!(response.text().await.unwrap(), "done");
    assert_eq!(alive.executed(), ["POST /commits once"]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}

#[tokio::test]
async fn a_write_that_a_server_has_read_is_never_sent_again() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);

    let failure = erase(stack(&registry)).oneshot(request(Method::POST, "/commits", "once")).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(failure.find::<reqwest::Error>().is_some(), "the original error stands behind it");
    assert_eq!(dying.executed(), ["POST /commits once"]);
    assert!(alive.executed().is_empty());
}

#[tokio::test]
async fn a_read_that_a_server_has_read_is_repeated_on_the_next_instance() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering("listed").await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);

    let response = erase(stack(&registry)).oneshot(request(Method::GET, "/files", "")).await.unwrap();

    assert_eq!(response.text().await.unwrap(), "listed");
    assert_eq!((dying.executed(), alive.executed()), (vec!["GET /files".to_owned()], vec!["GET /files".to_owned()]));
    assert_eq!(registry.lookups(), 2);
}

#[tokio::test]
async fn a_body_that_cannot_be_cloned_is_sent_once_and_its_failure_still_evicts() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering("done").await);
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);
    let mut stack = stack(&registry);
    let streamed = || request(Method::POST, "/commits", Body::wrap(Full::new(Bytes::from("once"))));

    let failure = stack.ready().await.unwrap().call(streamed()).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 1));
    assert!(!failure.is_exhausted(), "no bound ended it: there was nothing left to send");
    stack.ready().await.unwrap().call(streamed()).await.unwrap();
    assert_eq!(alive.executed(), ["POST /commits once"], "the next call finds the next instance");
}
