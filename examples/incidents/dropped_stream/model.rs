//! The server: a model that streams its words in the form of OpenAI's chat, and can be asked whether it is well.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use tower_recovery_test::{
    Act, FaultyServer,
    faulty::{RequestContext, StreamScript},
};

use super::{
    LIMIT,
    case::{Case, Fault, Over},
};

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const HEALTH: &str = "/health";

/// What the first call is answered, as far as it gets.
pub(crate) const FIRST_ANSWER: [&str; 4] = ["One", " call", " went", " wrong."];
/// What the second call is answered. It has other words: a text that holds some of both is of neither.
pub(crate) const SECOND_ANSWER: [&str; 4] = ["Another", " call", " went", " well."];

const OVERLOADED: &str = r#"{"error": {"type": "overloaded_error", "message": "Overloaded"}}"#;

pub(crate) struct Model(FaultyServer);

impl Model {
    pub(crate) async fn start(case: Case) -> io::Result<Self> {
        let is_first = AtomicBool::new(true);
        let refuses = case.fault == Fault::Unavailable;
        let server = FaultyServer::builder()
            .script(|request: &RequestContext| if request.path == CHAT { Act::Stream } else { Act::Answer })
            .streams([case.fault.script(), second_call()])
            .application(move |request| match request.uri().path() {
                CHAT if is_first.swap(false, Ordering::Relaxed) && refuses => refusal(),
                CHAT => event_stream(),
                _ => Response::new(Bytes::from_static(b"well")),
            });
        let server = match case.over {
            Over::Http1 => server,
            Over::Http2 => server.http2(),
        };
        server.start().await.map(Self)
    }

    pub(crate) fn origin(&self) -> String {
        self.0.origin()
    }

    pub(crate) fn calls(&self) -> usize {
        self.executed(CHAT)
    }

    pub(crate) fn health_probes(&self) -> usize {
        self.executed(HEALTH)
    }

    fn executed(&self, path: &str) -> usize {
        self.0.executions().iter().filter(|execution| execution.path == path).count()
    }

    /// Whether the second answer was sent, all of it. A server knows that a little after its client.
    pub(crate) async fn has_sent_the_second_answer(&self) -> bool {
        let Some(second) = self.0.streamed_answers().get(1).cloned() else { return false };
        let length = whole(&SECOND_ANSWER).iter().map(String::len).sum();
        tokio::time::timeout(LIMIT, second.wait_until_bytes_sent(length)).await.is_ok()
    }
}

fn second_call() -> StreamScript {
    whole(&SECOND_ANSWER).into_iter().fold(StreamScript::new(), StreamScript::send)
}

fn whole(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| chunk(word)).chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// The event of one word.
pub(crate) fn chunk(word: &str) -> String {
    let chunk = serde_json::json!({
        "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": { "content": word } }],
    });
    format!("data: {chunk}\n\n")
}

/// An error in the middle of an answer that began with a 200.
pub(crate) fn overloaded_event() -> String {
    format!("data: {OVERLOADED}\n\n")
}

fn event_stream() -> Response<Bytes> {
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    response.body(Bytes::new()).expect("the head is well formed")
}

fn refusal() -> Response<Bytes> {
    let response = Response::builder().status(StatusCode::SERVICE_UNAVAILABLE);
    let response = response.header(header::CONTENT_TYPE, "application/json");
    response.body(Bytes::from_static(OVERLOADED.as_bytes())).expect("the head is well formed")
}

/// A call as all contenders make it.
pub(crate) fn question() -> Request<http_body_util::Full<Bytes>> {
    let body = r#"{"model": "large", "stream": true, "messages": [{"role": "user", "content": "How did it go?"}]}"#;
    let request = Request::post(CHAT).header(header::CONTENT_TYPE, "application/json");
    request.body(body.into()).expect("the request is well formed")
}
