//! A generated tonic client over a stack whose handles are lazy channels. A tonic body cannot be cloned, so the request of a unary call
//! is collected above the stack, and its bytes are the copy.

use std::{
    error::Error,
    net::SocketAddr,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tonic::{
    Code, ConnectError, Status,
    body::Body,
    transport::{self, Channel, Endpoint},
};
use tower::{BoxError, Service, ServiceBuilder, util::BoxCloneSyncService};
use tower_recovery::{
    AttemptTimeoutLayer, Classify, ClassifyLayer, Delivery, Dispatch, Failure, NamedRules, ReadMethods,
    ReadOnlyRetryLayer, ReresolveLayer, Resolved, Verdict, sources,
};

use super::{
    greeter::{Greeting, greeter_client::GreeterClient},
    support::{Refusing, Registry, Stack, erase},
    tonic_server::GreeterInstance,
};

/// A channel that takes collected requests.
#[derive(Clone)]
struct CollectedChannel(Channel);

impl Service<Request<Full<Bytes>>> for CollectedChannel {
    type Response = Response<Body>;
    type Error = transport::Error;
    type Future = transport::channel::ResponseFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), transport::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        self.0.call(request.map(Body::new))
    }
}

/// The endpoint of an instance, for whatever handle connects to it.
pub(crate) fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint::from_shared(format!("http://{address}")).expect("a socket address is an authority")
}

/// A channel that connects in its first call, inside its buffer.
pub(crate) fn lazy(address: SocketAddr) -> Resolved<Channel> {
    Resolved::new(address.to_string(), endpoint(address).connect_lazy())
}

/// A method is its path. How a request is copied depends on its body.
pub(crate) fn rules<Body>() -> NamedRules<Request<Body>, String> {
    let reads = ReadMethods::new().read("/greeter.Greeter/Look").read("/greeter.Greeter/Watch");
    NamedRules::new(|request: &Request<Body>| request.uri().path().to_owned(), reads)
}

/// A connection that was never made proves that nothing was sent; any other error of the transport proves nothing.
#[derive(Clone, Debug)]
pub(crate) struct ChannelErrors;

impl<Body> Classify<Response<Body>> for ChannelErrors {
    fn response(&self, _: &Response<Body>) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        if sources(error).any(|error| error.is::<ConnectError>()) {
            Verdict::never_sent().stale()
        } else if sources(error).any(|error| error.is::<transport::Error>()) {
            Verdict::maybe_sent().stale()
        } else {
            Verdict::unrecognised()
        }
    }
}

fn stack(registry: &Registry<CollectedChannel>) -> impl Stack<Request<Full<Bytes>>, Response<Body>> {
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules().copied_by(|request| Some(Request::clone(request)))))
        .layer(ReresolveLayer::new(registry.cache()))
        .layer(ClassifyLayer::new(ChannelErrors))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch)
}

/// One client type for all stacks: collecting stands above, and is erased with them.
type Client = GreeterClient<BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>>;

fn client(stack: impl Stack<Request<Full<Bytes>>, Response<Body>>) -> Client {
    let collecting = ServiceBuilder::new().filter_async(collect).service(stack);
    GreeterClient::new(BoxCloneSyncService::new(collecting))
}

async fn collect(request: Request<Body>) -> Result<Request<Full<Bytes>>, Status> {
    let (head, body) = request.into_parts();
    Ok(Request::from_parts(head, Full::new(body.collect().await?.to_bytes())))
}

fn collected(address: SocketAddr) -> Resolved<CollectedChannel> {
    lazy(address).map(CollectedChannel)
}

pub(crate) fn greeting(name: &str) -> Greeting {
    Greeting { name: name.to_owned() }
}

/// The failure behind a status that a generated client made of it.
pub(crate) fn failure(status: Status) -> Failure {
    Failure::recover(status.into())
}

/// B20 (a): nobody listens. The code would be UNAVAILABLE.
#[tokio::test]
async fn b20_a_write_that_meets_a_refused_connection_is_done_once_by_the_next_instance() {
    let (dead, alive) = (Refusing::new(), GreeterInstance::answering().await);
    let registry = Registry::naming([collected(dead.address()), collected(alive.address())]);

    let reply = client(stack(&registry)).greet(greeting("once")).await.unwrap();

    assert_eq!(reply.into_inner().text, "hello once");
    assert_eq!(alive.executed(), ["greet once"]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}

/// B20 (b): the server executes and is gone. The code would be the same.
#[tokio::test]
async fn b20_a_write_that_a_server_has_executed_is_never_sent_again() {
    let (dying, alive) = (GreeterInstance::hanging_up().await, GreeterInstance::answering().await);
    let registry = Registry::naming([collected(dying.address()), collected(alive.address())]);

    let status = client(erase(stack(&registry))).greet(greeting("once")).await.unwrap_err();

    let failure = failure(status);
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert_eq!(dying.executed(), ["greet once"]);
    assert!(alive.executed().is_empty());
}

/// B20 (c): the server itself says UNAVAILABLE, without a message. An answer, whatever its code, and it comes out as it is.
#[tokio::test]
async fn b20_a_status_that_the_server_gives_is_an_answer_and_nothing_is_sent_again() {
    let (unavailable, other) = (GreeterInstance::unavailable().await, GreeterInstance::answering().await);
    let registry = Registry::naming([collected(unavailable.address()), collected(other.address())]);
    let mut client = client(erase(stack(&registry)));

    let write = client.greet(greeting("once")).await.unwrap_err();
    let read = client.look(greeting("once")).await.unwrap_err();

    for status in [write, read] {
        assert_eq!((status.code(), status.message()), (Code::Unavailable, "not now"));
        assert!(status.source().is_none(), "it was received, and not made of an error");
    }
    assert_eq!(unavailable.executed(), ["greet once", "look once"]);
    assert!(other.executed().is_empty());
    assert_eq!(registry.lookups(), 1);
}

#[tokio::test]
async fn a_read_that_a_server_has_executed_is_repeated_on_the_next_instance() {
    let (dying, alive) = (GreeterInstance::hanging_up().await, GreeterInstance::answering().await);
    let registry = Registry::naming([collected(dying.address()), collected(alive.address())]);

    let reply = client(erase(stack(&registry))).look(greeting("twice")).await.unwrap();

    assert_eq!(reply.into_inner().text, "hello twice");
    assert_eq!((dying.executed(), alive.executed()), (vec!["look twice".to_owned()], vec!["look twice".to_owned()]));
    assert_eq!(registry.lookups(), 2);
}

#[tokio::test]
async fn a_server_stream_is_opened_on_the_next_instance_and_handed_out_as_it_comes() {
    let (dead, alive) = (Refusing::new(), GreeterInstance::answering().await);
    let registry = Registry::naming([collected(dead.address()), collected(alive.address())]);

    let mut replies = client(erase(stack(&registry))).watch(greeting("along")).await.unwrap().into_inner();

    assert_eq!(replies.message().await.unwrap().unwrap().text, "hello along");
    alive.last_may_go.notify_one();
    assert_eq!(replies.message().await.unwrap().unwrap().text, "bye");
    assert_eq!(replies.message().await.unwrap(), None);
    assert_eq!(alive.executed(), ["watch along"]);
}

#[tokio::test]
async fn a_status_keeps_its_code_and_the_failure_behind_it() {
    let dead = Refusing::new();
    let registry = Registry::naming([collected(dead.address())]);

    let status = client(stack(&registry)).greet(greeting("never")).await.unwrap_err();

    assert_eq!(status.code(), Code::Unavailable, "tonic finds its own error behind the failure");
    let failure = failure(status);
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert_eq!((failure.attempts(), failure.is_exhausted()), (3, true));
}
