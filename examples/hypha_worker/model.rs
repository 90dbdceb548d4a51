//! Stage: a model whose first answer breaks off after two words.

use std::io;

use bytes::Bytes;
use http::{Request, Response, header};
use tower_recovery_test::{
    Act, FaultyServer,
    faulty::{RequestContext, StreamEnding, StreamScript},
};

const CHAT: &str = "/v1/chat/completions";
const FIRST_ANSWER: [&str; 2] = ["One", " call"];
/// It has other words: a text that holds some of both is of neither.
const SECOND_ANSWER: [&str; 4] = ["Another", " call", " went", " well."];

pub(crate) struct Model(FaultyServer);

impl Model {
    pub(crate) async fn start() -> io::Result<Self> {
        let broken = words(&FIRST_ANSWER).then(StreamEnding::Close);
        let whole = words(&SECOND_ANSWER).send("data: [DONE]\n\n");
        let server = FaultyServer::builder()
            .script(|request: &RequestContext| if request.path == CHAT { Act::Stream } else { Act::Answer })
            .streams([broken, whole])
            .application(|request: &Request<Bytes>| match request.uri().path() {
                CHAT => {
                    let head = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
                    head.body(Bytes::new()).expect("the head is well formed")
                }
                _ => Response::new(Bytes::from_static(b"well")),
            });
        server.start().await.map(Self)
    }

    pub(crate) fn origin(&self) -> String {
        self.0.origin()
    }

    /// How often it was asked.
    pub(crate) fn calls(&self) -> usize {
        self.0.executions().iter().filter(|execution| execution.path == CHAT).count()
    }

    /// The one answer that was whole.
    pub(crate) fn whole_answer() -> String {
        SECOND_ANSWER.concat()
    }
}

fn words(words: &[&str]) -> StreamScript {
    words.iter().fold(StreamScript::new(), |script, word| {
        let chunk = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": word } }] });
        script.send(format!("data: {chunk}\n\n"))
    })
}
