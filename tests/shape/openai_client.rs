//! async-openai over a stack of its own request factory, installed by `Client::with_http_service`: the factory is cheap to clone, and
//! that is the copy. The handle builds the request, turns it to its origin, and executes it.

use std::{
    net::SocketAddr,
    task::{Context, Poll},
    time::Duration,
};

use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    middleware::HttpRequestFactory,
    types::chat::{ChatCompletionRequestUserMessage, CreateChatCompletionRequest},
};
use futures_util::{FutureExt, future::BoxFuture};
use reqwest::{Method, Request, Response};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    Access, AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, Failure, ReadOnlyRetryLayer, RequestRules,
    ReresolveLayer, Resolved,
};

use super::{
    http_server::HttpServer,
    reqwest_client::{self, ReqwestErrors},
    support::{Refusing, Registry, Stack, erase},
};

/// An origin that takes factories in place of requests.
#[derive(Clone)]
struct Origin(reqwest_client::Origin);

impl Origin {
    fn at(address: SocketAddr) -> Resolved<Self> {
        reqwest_client::Origin::at(address).map(Self)
    }
}

impl Service<HttpRequestFactory> for Origin {
    type Response = Response;
    type Error = OpenAIError;
    type Future = BoxFuture<'static, Result<Response, OpenAIError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        self.0.poll_ready(context).map_err(OpenAIError::from)
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let mut readied = self.0.clone();
        async move { Ok(readied.call(factory.build().await?).await?) }.boxed()
    }
}

/// A factory does not say what it makes: a request is built to be looked at. What cannot be built on the spot is a write.
#[derive(Clone, Debug)]
struct FactoryRules;

impl FactoryRules {
    fn peek(factory: &HttpRequestFactory) -> Option<Request> {
        factory.build().now_or_never()?.ok()
    }
}

impl RequestRules<HttpRequestFactory> for FactoryRules {
    type Method = Method;

    fn method(&self, factory: &HttpRequestFactory) -> Method {
        Self::peek(factory).map_or(Method::POST, |request| request.method().clone())
    }

    fn access(&self, _: &HttpRequestFactory, method: &Method) -> Access {
        if method.is_safe() { Access::Read } else { Access::Write }
    }

    fn copy(&self, factory: &HttpRequestFactory) -> Option<HttpRequestFactory> {
        Some(factory.clone())
    }

    fn silence(&self, _: &mut HttpRequestFactory) {}
}

fn stack(registry: &Registry<Origin>) -> impl Stack<HttpRequestFactory, Response> {
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(FactoryRules))
        .layer(ReresolveLayer::new(registry.cache()))
        .layer(ClassifyLayer::new(ReqwestErrors))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch)
}

/// async-openai takes a service whose error converts into its own: a boxed one does.
fn client(stack: impl Stack<HttpRequestFactory, Response>) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new().with_api_base("http://openai.example/v1").with_api_key("none");
    Client::with_config(config).with_http_service(stack.map_err(BoxError::from))
}

fn question() -> CreateChatCompletionRequest {
    let messages = vec![ChatCompletionRequestUserMessage::from("Who executes this?").into()];
    CreateChatCompletionRequest { model: "small".into(), messages, ..Default::default() }
}

const COMPLETION: &str = r#"{
    "id": "completion-1", "object": "chat.completion", "created": 0, "model": "small",
    "choices": [{
        "index": 0, "finish_reason": "stop", "logprobs": null,
        "message": { "role": "assistant", "content": "I alone.", "refusal": null }
    }]
}"#;

/// The failure inside async-openai's error, which is transparent: its source is the failure's.
fn failure(error: OpenAIError) -> Failure {
    Failure::recover(error.into())
}

fn requests(server: &HttpServer) -> Vec<String> {
    server.executed().iter().map(|line| line.split(" {").next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_completion_that_meets_a_refused_connection_is_made_once_by_the_next_instance() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering(COMPLETION).await);
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);

    let completion = client(stack(&registry)).chat().create(question()).await.unwrap();

    assert_eq!(completion.choices[0].message.content.as_deref(), Some("I alone."));
    assert_eq!(requests(&alive), ["POST /v1/chat/completions"]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}

#[tokio::test]
async fn a_completion_that_a_server_has_read_is_never_asked_for_again() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering(COMPLETION).await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);

    let error = client(stack(&registry)).chat().create(question()).await.unwrap_err();

    let failure = failure(error);
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(failure.find::<reqwest::Error>().is_some(), "the original error stands behind it");
    assert_eq!(requests(&dying), ["POST /v1/chat/completions"]);
    assert!(alive.executed().is_empty());
}

#[tokio::test]
async fn a_look_at_a_stored_completion_is_repeated_on_the_next_instance() {
    let (dying, alive) = (HttpServer::hanging_up().await, HttpServer::answering(COMPLETION).await);
    let registry = Registry::naming([Origin::at(dying.address()), Origin::at(alive.address())]);

    let completion = client(stack(&registry)).chat().retrieve("completion-1").await.unwrap();

    assert_eq!(completion.id, "completion-1");
    assert_eq!((requests(&dying), requests(&alive)), (vec![STORED.to_owned()], vec![STORED.to_owned()]));
}

const STORED: &str = "GET /v1/chat/completions/completion-1";

#[tokio::test]
async fn a_stack_whose_type_is_erased_is_taken_too() {
    let (dead, alive) = (Refusing::new(), HttpServer::answering(COMPLETION).await);
    let registry = Registry::naming([Origin::at(dead.address()), Origin::at(alive.address())]);

    client(erase(stack(&registry))).chat().create(question()).await.unwrap();

    assert_eq!(requests(&alive), ["POST /v1/chat/completions"]);
}

#[tokio::test]
async fn a_failure_is_found_in_the_box_of_the_error_when_the_attempts_are_spent() {
    let dead = Refusing::new();
    let registry = Registry::naming([Origin::at(dead.address())]);

    let error = client(stack(&registry)).chat().create(question()).await.unwrap_err();

    let failure = failure(error);
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert_eq!((failure.attempts(), failure.is_exhausted()), (3, true));
}
