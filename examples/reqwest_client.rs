//! A reqwest client that recovers: what to copy into your own.
//!
//! The registry still names an instance that is gone; the one that took its place dies in the middle of calls. Everything below the line that says so is
//! the stage: your own registry and servers take its place.

use std::{process::ExitCode, time::Duration};

use bytes::Bytes;
use http::Response;
use tower::BoxError;
use tower_recovery::{Delivery, Failure, Recovery};
use tower_recovery_http::{
    HttpFrontDoor, Origin, ReadRoutes,
    reqwest::{ReqwestCall, ReqwestStack},
};
use tower_recovery_test::{Act, FaultyServer, ScriptedResolver, Step, faulty::RequestContext};

/// The client. Clone it for every task; every clone shares the connections.
fn client(resolver: ScriptedResolver<Origin>) -> Result<ReqwestStack, BoxError> {
    let client = Recovery::http(resolver, "articles")
        .named("articles")
        .reads(ReadRoutes::safe())
        .deadline(Duration::from_secs(10))
        // All that reqwest can be told, but for its retries and redirects. The stage is on loopback, where no proxy reaches.
        .reqwest(|client| client.user_agent("reqwest_client/1.0").no_proxy())?;
    Ok(client)
}

/// One call, to its text, and what a caller can say about a request that has no answer.
async fn send(what: &str, call: ReqwestCall) -> Outcome {
    let outcome = call.with(|request| request.header("x-request-id", what)).send().await;
    let told = match &outcome {
        Ok(response) => format!("{} from {}", response.status(), response.url()),
        Err(failure) => match failure.delivery() {
            Some(Delivery::NeverSent | Delivery::Refused) => "not executed: try again whenever you like".to_owned(),
            Some(Delivery::MaybeSent) => "maybe executed: look before you send it again".to_owned(),
            Some(Delivery::Answered) => "answered, but the answer cannot be used".to_owned(),
            None => format!("no failure of the transport's: {failure}"),
        },
    };
    println!("{what:<16} {told}");
    outcome.map(|_| ())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, BoxError> {
    let gone = FaultyServer::refused_address()?;
    let server = dying().await?;
    let client = client(naming([gone.origin(), server.origin()])?)?;

    // The first instance refuses the connection: nothing was sent, so the write goes to the one that the registry names now.
    let written = send("POST /articles", client.post("/articles").with(|request| request.body("text"))).await;
    // The server dies after it has executed this: a read, so it is repeated.
    let listed = send("GET /articles", client.get("/articles?limit=3")).await;
    // It dies here too. Nobody can know from this side what became of the write: it is not repeated.
    let commented = send("POST /comments", client.post("/comments").with(|request| request.body("text"))).await;

    // By the log of the server: what is claimed above, or an error.
    let holds = written.is_ok()
        && listed.is_ok()
        && commented.is_err_and(|failure| failure.delivery() == Some(Delivery::MaybeSent))
        && ["POST /articles", "GET /articles", "POST /comments"].map(|id| server.executed(id)) == [1, 2, 1];
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

// ---- The stage ----

type Outcome = Result<(), Failure>;

/// Dies once in the middle of a read, and in the middle of each comment.
async fn dying() -> Result<FaultyServer, BoxError> {
    let script = |request: &RequestContext| match (request.path.as_str(), request.number) {
        ("/articles", 2) | ("/comments", _) => Act::RunThenClose,
        _ => Act::Answer,
    };
    let done = |_: &http::Request<Bytes>| Response::new(Bytes::from_static(b"done"));
    Ok(FaultyServer::builder().application(done).script(script).start().await?)
}

/// A registry that names these instances, one after the other.
fn naming(origins: [String; 2]) -> Result<ScriptedResolver<Origin>, BoxError> {
    let resolver = ScriptedResolver::new([]);
    for origin in origins {
        resolver.push(Step::resolved(origin.clone(), origin.parse()?));
    }
    Ok(resolver)
}
