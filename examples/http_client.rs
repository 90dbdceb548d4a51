//! An HTTP client that recovers: what to copy into your own.
//!
//! Two instances stand behind one name, on loopback. The first one dies in the ways that make a client wonder whether its request was executed.
//! Everything below the line that says so is the stage: your own registry and servers take its place.

use std::{process::ExitCode, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use tower::{BoxError, Service, ServiceExt};
use tower_recovery::{Delivery, Failure, Recovery};
use tower_recovery_http::{CollectedBody, HttpFrontDoor, HttpStack, Origin, ReadRoutes, Silence};
use tower_recovery_test::{Act, FaultyServer, Registry, faulty::RequestContext};

/// The client: a tower service of `http::Request`. Clone it for every task.
fn client(registry: &Registry<Origin>) -> Result<HttpStack<Full<Bytes>>, BoxError> {
    // GET, HEAD, OPTIONS and TRACE are reads. This one counts its views, and can be asked not to; this POST only searches.
    let reads = ReadRoutes::safe()
        .silent(Method::GET, "/articles/{id}", Silence::query("silent", "true")?)?
        .read(Method::POST, "/search")?;
    let client = Recovery::http(registry.resolver(), "articles")
        .named("articles")
        .reads(reads)
        .deadline(Duration::from_secs(10))
        .attempt_timeout(Duration::from_millis(500))
        .build()?;
    Ok(client)
}

/// One call, and what became of it.
async fn send(client: &mut HttpStack<Full<Bytes>>, request: Request<Full<Bytes>>) -> Result<String, Failure> {
    let response: Response<CollectedBody> = client.ready().await?.call(request).await?;
    let status = response.status();
    Ok(format!("{status}: {}", String::from_utf8_lossy(&response.into_body().to_bytes())))
}

/// What a caller can say about a request that has no answer.
fn explain(failure: &Failure) -> &'static str {
    match failure.delivery() {
        Some(Delivery::NeverSent | Delivery::Refused) => "it was not executed: try again whenever you like",
        Some(Delivery::MaybeSent) => "it may have been executed: look before you send it again",
        Some(Delivery::Answered) => "it was answered, but the answer cannot be used",
        None => "an error that is not the transport's",
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, BoxError> {
    let stage = Stage::set().await?;
    let mut client = client(&stage.registry)?;
    let mut call = async |method: Method, path: &'static str| -> Result<Outcome, BoxError> {
        let what = format!("{method} {path}");
        let request = Request::builder().method(method).uri(path).header("x-request-id", &what);
        let outcome = send(&mut client, request.body(Full::from("text"))?).await;
        match &outcome {
            Ok(answer) => println!("{what:<16} {answer}"),
            Err(failure) => println!("{what:<16} {}", explain(failure)),
        }
        Ok(outcome)
    };

    let seen = call(Method::GET, "/articles").await?;
    stage.move_to_the_second_instance().await?;
    // The old connection is refused: nothing was sent, so the write goes to the instance that the registry names now.
    let written = call(Method::POST, "/articles").await?;
    // The second instance dies after it has counted the view: the read is repeated, and asked not to count again.
    let viewed = call(Method::GET, "/articles/7").await?;
    // It dies after it has taken the comment, too. Nobody can know that from here: the write is not repeated.
    let commented = call(Method::POST, "/comments").await?;

    Ok(stage.judge([seen, written, viewed], commented))
}

// ---- The stage ----

type Outcome = Result<String, Failure>;

struct Stage {
    registry: Registry<Origin>,
    first: FaultyServer,
    second: FaultyServer,
}

impl Stage {
    async fn set() -> Result<Self, BoxError> {
        let done = |_: &Request<Bytes>| Response::new(Bytes::from_static(b"done"));
        let first = FaultyServer::builder().application(done).start().await?;
        let dying = |request: &RequestContext| match (request.path.as_str(), &request.query) {
            ("/articles/7", None) => Act::RunThenClose,
            ("/comments", _) => Act::RunThenReset,
            _ => Act::Answer,
        };
        let second = FaultyServer::builder().application(done).script(dying).start().await?;
        let registry = Registry::new();
        registry.register("articles", "instance-1", first.origin().parse()?);
        Ok(Self { registry, first, second })
    }

    async fn move_to_the_second_instance(&self) -> Result<(), BoxError> {
        self.first.refuse().await;
        self.registry.register("articles", "instance-2", self.second.origin().parse()?);
        Ok(())
    }

    /// By the log of the servers: what is claimed above, or an error.
    fn judge(&self, answered: [Outcome; 3], commented: Outcome) -> ExitCode {
        let executions = |id| self.first.executed(id) + self.second.executed(id);
        let log = self.second.executions();
        let silenced: Vec<_> = log.iter().filter(|execution| execution.path == "/articles/7").collect();
        let holds = answered.iter().all(Result::is_ok)
            && commented.is_err_and(|failure| failure.delivery() == Some(Delivery::MaybeSent))
            && executions("POST /articles") == 1
            && executions("POST /comments") == 1
            && silenced.len() == 2
            && silenced[1].query.as_deref() == Some("silent=true");
        if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
