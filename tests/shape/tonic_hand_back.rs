//! The same client over a stack of `http::Request<tonic::body::Body>` itself, which is neither `Sync` nor cloneable: a call
//! is repeated where its request is handed back, and fails honestly where it is not.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{
    FutureExt, TryFutureExt,
    future::{BoxFuture, ErrInto, Shared},
};
use http::{Request, Response};
use tonic::{
    body::Body,
    transport::{self, Channel, Endpoint},
};
use tower::{BoxError, Service, ServiceBuilder};
use tower_recovery::{
    AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, NotReady, ReadOnlyRetryLayer, ReresolveLayer, Resolved,
};

use super::{
    greeter::greeter_client::GreeterClient,
    support::{Refusing, Registry, Stack, erase},
    tonic_client::{ChannelErrors, endpoint, failure, greeting, lazy, rules},
    tonic_server::GreeterInstance,
};

/// A channel that is ready once it is connected: a refused connection comes out of `poll_ready`, and leaves the request with the stack.
#[derive(Clone)]
struct ConnectedChannel {
    connecting: Shared<BoxFuture<'static, Result<Channel, Arc<transport::Error>>>>,
    connected: Option<Channel>,
}

impl ConnectedChannel {
    fn to(endpoint: Endpoint) -> Resolved<Self> {
        let identity = endpoint.uri().to_string();
        let connecting = async move { endpoint.connect().await.map_err(Arc::new) };
        Resolved::new(identity, Self { connecting: connecting.boxed().shared(), connected: None })
    }
}

impl Service<Request<Body>> for ConnectedChannel {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = ErrInto<transport::channel::ResponseFuture, BoxError>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let channel = match &mut self.connected {
            Some(channel) => channel,
            None => self.connected.insert(ready!(self.connecting.poll_unpin(context))?),
        };
        channel.poll_ready(context).map_err(BoxError::from)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.connected.as_mut().expect("it was readied").call(request).err_into()
    }
}

fn stack<Handle>(registry: &Registry<Handle>) -> impl Stack<Request<Body>, Response<Body>>
where
    Handle: Service<Request<Body>, Response = Response<Body>, Error: Into<BoxError>, Future: Send>,
    Handle: Clone + Send + Sync + 'static,
{
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()))
        .layer(ReresolveLayer::new(registry.cache()))
        .layer(ClassifyLayer::new(ChannelErrors))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch)
}

#[tokio::test]
async fn a_request_that_its_handle_was_not_ready_for_is_handed_back_and_sent_to_the_next_instance() {
    let (dead, alive) = (Refusing::new(), GreeterInstance::answering().await);
    let registry = Registry::naming([dead.address(), alive.address()].map(|at| ConnectedChannel::to(endpoint(at))));

    let reply = GreeterClient::new(stack(&registry)).greet(greeting("once")).await.unwrap();

    assert_eq!(reply.into_inner().text, "hello once");
    assert_eq!(alive.executed(), ["greet once"]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}

#[tokio::test]
async fn a_request_that_found_no_handle_is_handed_back_and_sent_to_the_one_that_is_found_later() {
    let alive = GreeterInstance::answering().await;
    let registry = Registry::naming([lazy(alive.address())]).down_at_first();

    let reply = GreeterClient::new(erase(stack(&registry))).greet(greeting("once")).await.unwrap();

    assert_eq!(reply.into_inner().text, "hello once");
    assert_eq!(alive.executed(), ["greet once"]);
    assert_eq!(registry.lookups(), 2, "the one that failed, and the next");
}

#[tokio::test]
async fn a_request_that_went_into_a_lazy_channel_is_gone_and_its_call_says_that_it_was_never_sent() {
    let (dead, alive) = (Refusing::new(), GreeterInstance::answering().await);
    let registry = Registry::naming([lazy(dead.address()), lazy(alive.address())]);
    let mut client = GreeterClient::new(erase(stack(&registry)));

    let failure = failure(client.greet(greeting("first")).await.unwrap_err());

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 1));
    assert!(!failure.is_exhausted(), "no bound ended it: there was nothing left to send");
    client.greet(greeting("second")).await.unwrap();
    assert_eq!(alive.executed(), ["greet second"], "the next call finds the next instance");
}

#[tokio::test]
async fn a_read_whose_request_is_gone_is_not_repeated_and_says_that_it_may_have_been_executed() {
    let (dying, alive) = (GreeterInstance::hanging_up().await, GreeterInstance::answering().await);
    let registry = Registry::naming([lazy(dying.address()), lazy(alive.address())]);

    let status = GreeterClient::new(stack(&registry)).look(greeting("once")).await.unwrap_err();

    let failure = failure(status);
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert_eq!(dying.executed(), ["look once"]);
    assert!(alive.executed().is_empty());
}

#[tokio::test]
async fn a_request_that_no_handle_was_ready_for_comes_back_out_of_the_failed_call() {
    let dead = Refusing::new();
    let registry = Registry::naming([ConnectedChannel::to(endpoint(dead.address()))]);

    let failure = failure(GreeterClient::new(stack(&registry)).greet(greeting("kept")).await.unwrap_err());

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3));
    assert!(failure.find::<NotReady>().is_some());
    let unsent = failure.take_unsent::<Request<Body>>().unwrap();
    assert_eq!(unsent.uri().path(), "/greeter.Greeter/Greet");
}
