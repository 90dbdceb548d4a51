//! An HTTP client that recovers: what to copy into your own.
//!
//! Two instances stand behind one name, on loopback. They die in the ways that make a client wonder whether its request was executed.
//! Everything below the line that says so is the stage: your own registry and servers take its place.

use std::{process::ExitCode, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use tower::{BoxError, Service, ServiceExt};
use tower_recovery::{Delivery, Failure, Recovery};
use tower_recovery_http::{CollectedBody, HttpFrontDoor, HttpStack, Origin, ReadRoutes, Silence};
use tower_recovery_test::{Act, FaultyServer, ScriptedResolver, Step, faulty::RequestContext};

/// The client: a tower service of `http::Request`. Clone it for every task.
fn client(registry: ScriptedResolver<Origin>) -> Result<HttpStack<Full<Bytes>>, BoxError> {
    // GET, HEAD, OPTIONS and TRACE are reads. This one counts its views, and can be asked not to; this POST only searches.
    let reads = ReadRoutes::safe()
        .silent(Method::GET, "/articles/{id}", Silence::query("silent", "true")?)?
        .read(Method::POST, "/search")?;
    let client = Recovery::http(registry, "articles")
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
    let first = FaultyServer::refused_address()?;
    let second = second_instance().await?;
    // The registry names the first instance, which has died, and from the next look-up on the second one.
    let registry = ScriptedResolver::new([
        Step::resolved("instance-1", format!("http://{}", first.address()).parse()?),
        Step::resolved("instance-2", second.origin().parse()?),
    ]);
    let mut client = client(registry)?;
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

    // The connection is refused: nothing was sent, so the write goes to the instance that the registry names now.
    let written = call(Method::POST, "/articles").await?;
    // The second instance dies after it has counted the view: the read is repeated, and asked not to count again.
    let viewed = call(Method::GET, "/articles/7").await?;
    // It dies after it has taken the comment, too. Nobody can know that from here: the write is not repeated.
    let commented = call(Method::POST, "/comments").await?;

    // By the log of the server: what is claimed above, or an error.
    let views: Vec<_> = second.executions().into_iter().filter(|execution| execution.path == "/articles/7").collect();
    let holds = written.is_ok()
        && viewed.is_ok()
        && commented.is_err_and(|failure| failure.delivery() == Some(Delivery::MaybeSent))
        && ["POST /articles", "GET /articles/7", "POST /comments"].map(|id| second.executed(id)) == [1, 2, 1]
        && views[1].query.as_deref() == Some("silent=true");
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

// ---- The stage ----

type Outcome = Result<String, Failure>;

/// Dies after it has counted a view, and after it has taken a comment.
async fn second_instance() -> Result<FaultyServer, BoxError> {
    let script = |request: &RequestContext| match (request.path.as_str(), &request.query) {
        ("/articles/7", None) => Act::RunThenClose,
        ("/comments", _) => Act::RunThenReset,
        _ => Act::Answer,
    };
    let done = |_: &Request<Bytes>| Response::new(Bytes::from_static(b"done"));
    Ok(FaultyServer::builder().application(done).script(script).start().await?)
}
