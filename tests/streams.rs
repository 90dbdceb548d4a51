//! Streams for a client that knows nothing of the layers: async-openai's `create_stream`, with its own middleware over our front door. The user's code is what
//! it would be without.

use std::{convert::Infallible, time::Duration};

use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    middleware::HttpRequestFactory,
    types::chat::{ChatCompletionRequestUserMessage, CreateChatCompletionRequest},
};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{Response, header::CONTENT_TYPE};
use reqwest::{Method, Request, Url};
use tokio::time::timeout;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{Failure, Recovery, Resolved, StreamMode, StreamPolicy, stream_replacement::StreamBroken};
use tower_recovery_http::{
    HttpFrontDoor, Origin,
    reqwest::{ReqwestStreams, into_response},
    sse::SseRules,
    streams::{AdmittedBody, WholeBody},
};
use tower_recovery_test::{
    FaultyServer,
    faulty::{StreamEnding, StreamScript},
};

/// What the user writes.
async fn ask(client: &Client<OpenAIConfig>) -> Result<String, OpenAIError> {
    let messages = vec![ChatCompletionRequestUserMessage::from("Who executes this?").into()];
    let question = CreateChatCompletionRequest { model: "small".into(), messages, ..Default::default() };
    let mut chunks = client.chat().create_stream(question).await?;
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        text.extend(chunk?.choices.into_iter().filter_map(|choice| choice.delta.content));
    }
    Ok(text)
}

async fn asked(client: &Client<OpenAIConfig>) -> Result<String, OpenAIError> {
    timeout(Duration::from_secs(30), ask(client)).await.expect("the test hangs")
}

/// What is written once, where the client is made. The factory makes the request above the layers, which copy it as it is.
fn client<Stack>(stack: Stack) -> Client<OpenAIConfig>
where
    Stack: Service<Request, Response = reqwest::Response, Error = Failure> + Clone + Send + Sync + 'static,
    Stack::Future: Send,
{
    let build = |factory: HttpRequestFactory| async move { factory.build().await.map_err(BoxError::from) };
    let service = ServiceBuilder::new().filter_async(build).service(stack);
    let config = OpenAIConfig::new().with_api_base("http://openai.example/v1").with_api_key("none");
    Client::with_config(config).with_http_service(service)
}

fn model(server: &FaultyServer) -> ReqwestStreams {
    let origin: Origin = server.origin().parse().expect("an origin");
    let resolver = service_fn(move |_: &'static str| {
        let found = Resolved::from(origin.clone());
        async move { Ok::<_, Infallible>(found) }
    });
    let grace = Duration::from_millis(50);
    let policy =
        StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).recovery_grace(grace).build().expect("in bounds");
    let probe = || Request::new(Method::GET, Url::parse("http://openai.example/v1/models").expect("a URL"));
    let streams = Recovery::http(resolver, "model").reqwest_streams(policy, |client| client.no_proxy());
    streams.expect("the settings fit").probe(probe)
}

async fn serving(scripts: impl Into<Vec<StreamScript>>) -> FaultyServer {
    let application = |_: &http::Request<Bytes>| {
        Response::builder().header(CONTENT_TYPE, "text/event-stream").body(Bytes::new()).expect("a response")
    };
    FaultyServer::builder().application(application).streams(scripts.into()).start().await.expect("a port is free")
}

fn saying(words: &[&str]) -> StreamScript {
    let chunk = |word: &&str| {
        let delta = format!(r#"[{{"index":0,"delta":{{"content":"{word}"}},"finish_reason":null}}]"#);
        let head = r#""id":"1","object":"chat.completion.chunk","created":0,"model":"small""#;
        format!("data: {{{head},\"choices\":{delta}}}\n\n")
    };
    words.iter().map(chunk).fold(StreamScript::new(), StreamScript::send)
}

fn complete(words: &[&str]) -> StreamScript {
    saying(words).send("data: [DONE]\n\n")
}

const WORDS: [&str; 3] = ["I", " a", "lone."];

#[tokio::test]
async fn a_completion_that_is_dropped_in_the_middle_is_whole_all_the_same() {
    for cut in [StreamEnding::Close, StreamEnding::Reset, StreamEnding::End] {
        let server = serving([saying(&["I", " a"]).then(cut), complete(&WORDS)]).await;
        let stack = model(&server).sse(SseRules::openai_chat()).whole(1 << 20);
        let client = client(stack.map_response(WholeBody::of_whole).map_response(into_response));
        assert_eq!(asked(&client).await.unwrap(), "I alone.", "{cut:?}");
        assert_eq!(server.requests_executed(), 2);
    }
}

#[tokio::test]
async fn a_completion_as_it_comes_is_replaced_before_its_first_word_and_fails_after_it() {
    let server =
        serving([saying(&[]).then(StreamEnding::Close), complete(&WORDS), saying(&["I"]).then(StreamEnding::Close)])
            .await;
    let stack = model(&server).sse(SseRules::openai_chat()).until_first_item();
    let client = client(stack.map_response(AdmittedBody::of).map_response(into_response));
    assert_eq!(asked(&client).await.unwrap(), "I alone.");
    assert_eq!(server.requests_executed(), 2);

    // The client keeps the text of what breaks a body, and nothing else of it.
    let error = asked(&client).await.unwrap_err();
    assert!(matches!(error, OpenAIError::StreamError(_)), "{error:?}");
    assert_eq!(server.requests_executed(), 3);
}

#[tokio::test]
async fn what_broke_every_attempt_is_found_in_the_box_of_the_clients_error() {
    let server =
        serving([saying(&["I"]).then(StreamEnding::Close), saying(&["I", " a"]).then(StreamEnding::Close)]).await;
    let stack = model(&server).sse(SseRules::openai_chat()).whole(1 << 20);
    let client = client(stack.map_response(WholeBody::of_whole).map_response(into_response));
    let failure = Failure::recover(asked(&client).await.unwrap_err().into());
    let broken = failure.find::<StreamBroken>().expect("it stands behind the client's error");
    assert_eq!((broken.report.attempts, failure.is_exhausted(), server.requests_executed()), (2, true, 2));
}

#[tokio::test]
async fn a_503_of_the_provider_is_the_clients_to_see_and_is_not_asked_for_again() {
    let overloaded =
        |_: &http::Request<Bytes>| Response::builder().status(503).body("overloaded".into()).expect("a response");
    let server = FaultyServer::builder().application(overloaded).start().await.expect("a port is free");
    let stack = model(&server).sse(SseRules::openai_chat()).whole(1 << 20);
    let client = client(stack.map_response(WholeBody::of_whole).map_response(into_response));
    let OpenAIError::ApiError(said) = asked(&client).await.unwrap_err() else { panic!("another error") };
    assert_eq!((said.status_code.as_u16(), said.api_error.message.as_str()), (503, "overloaded"));
    assert_eq!(server.requests_executed(), 1);
}

#[tokio::test]
async fn an_error_of_the_provider_is_the_clients_to_see_and_is_not_asked_for_again() {
    let error =
        r#"{"error":{"message":"The server is overloaded.","type":"server_error","code":"server_is_overloaded"}}"#;
    let server = serving([saying(&["I"]).send(format!("data: {error}\n\n")), complete(&WORDS)]).await;
    let stack = model(&server).sse(SseRules::openai_chat()).whole(1 << 20);
    let client = client(stack.map_response(WholeBody::of_whole).map_response(into_response));
    // The client knows errors by their status alone. What was said in the stream is a chunk to it that it cannot read, and it hands out as it is.
    let OpenAIError::JSONDeserialize(_, said) = asked(&client).await.unwrap_err() else { panic!("another error") };
    assert_eq!(said, error);
    assert_eq!(server.requests_executed(), 1);
}
