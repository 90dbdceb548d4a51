//! One call of one client into one failure.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper_util::{client::legacy, rt::TokioExecutor};
use tokio::{
    task::{JoinHandle, yield_now},
    time,
};
use tower::BoxError;
use tower_recovery::{Classify, Verdict};
use tower_recovery_http::CollectedBody;
use tower_recovery_test::{Act, ConnectionAct, FaultyServer};

use crate::{
    case::{Failure, OwnBody, PeerKind, Silence},
    clients::{ATTEMPT, Answered, Column, RequestBody, Stack, Way, classifier},
    outcome::Outcome,
    peer::{BEFORE, CALL, Peer},
    seen::{OwnError, seen},
};

/// No cell takes longer, the time that it makes pass included.
const BOUND: Duration = Duration::from_secs(60);

/// For the connections that nobody can make.
const SHORT: Duration = Duration::from_millis(100);

/// On a runtime of its own, with which all of its tasks end, and whose clock is its own.
pub(crate) fn run(failure: &Failure, column: &Column) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = runtime.block_on(async { time::timeout(BOUND, outcome(failure, column)).await });
    outcome.unwrap_or_else(|_| panic!("{} with {column} hangs", failure.name))
}

async fn outcome(failure: &Failure, column: &Column) -> Outcome {
    let (peer, tls) = Peer::start(failure, column).await;
    let stack = column.client.stack(&Way {
        origin: peer.origin().parse().expect("an origin"),
        http: column.http,
        tls,
        connect_timeout: connect_timeout(failure),
        intermediary: failure.intermediary,
        is_late: failure.is_late,
        hides_ends: column.client.hides_ends(),
    });
    if let Some(before) = failure.before(column) {
        prepare(before, &stack, peer.server().expect("somebody answers the call before")).await;
    }
    let call = tokio::spawn(stack(request(CALL, body(failure.body).await)));
    let result = finish(failure, peer.server(), call).await;
    describe(failure, result, peer.server())
}

/// Short where the connection is all that the client waits for.
fn connect_timeout(failure: &Failure) -> Duration {
    match (failure.silence, failure.peer) {
        (Some(Silence::Connecting), _) => 2 * ATTEMPT,
        (_, PeerKind::BlackHole | PeerKind::Tls(ConnectionAct::FreezeAtAccept { .. }, _)) => SHORT,
        _ => ATTEMPT / 2,
    }
}

/// The call before, and what becomes of its connection.
async fn prepare(before: Act, stack: &Stack, server: &FaultyServer) {
    let answered = stack(request(BEFORE, body(OwnBody::Whole).await)).await;
    answered.expect("the call before is answered");
    match before {
        Act::Answer => return,
        Act::AnswerThenTimeOut { .. } => {
            server.thaw();
            server.wait_until_timed_out(1).await;
        }
        _ => {}
    }
    server.wait_until_open(0).await;
    // The end is in the client's socket now.
    settle().await;
}

/// Each turn lets the runtime look at the sockets, and the tasks at what came.
async fn settle() {
    for _ in 0..200 {
        yield_now().await;
    }
}

async fn finish(failure: &Failure, server: Option<&FaultyServer>, call: JoinHandle<Answered>) -> Answered {
    let Some(silence) = failure.silence else {
        return call.await.expect("no panic");
    };
    match (silence, server) {
        (Silence::Executed, Some(server)) => server.wait_until_executed(1).await,
        (Silence::Held, Some(server)) => server.wait_until_held(1).await,
        _ => settle().await,
    }
    // Nothing else is going to happen: the time of the attempt passes.
    time::pause();
    time::advance(ATTEMPT).await;
    time::resume();
    let result = call.await.expect("no panic");
    if let Some(server) = server {
        // What the server has, it executes: the client's leaving does not stop it.
        server.thaw();
        server.wait_until_executed(1).await;
    }
    result
}

fn describe(failure: &Failure, result: Answered, server: Option<&FaultyServer>) -> Outcome {
    let (seen, verdict, is_handed_back) = match result {
        Ok(response) => {
            // The answer goes out as it is: what it said of the handle is told by whoever said so.
            let verdict = classifier(failure.intermediary).response(&response).unwrap_or(Verdict::answered());
            (format!("answer {}", response.status().as_u16()), verdict, false)
        }
        Err(failed) => {
            let refusing = failed.take_response::<Response<CollectedBody>>();
            let seen = match refusing {
                Some(response) => format!("answer {}", response.status().as_u16()),
                None => seen(&failed),
            };
            (seen, failed.verdict(), failed.take_unsent::<Request<RequestBody>>().is_some())
        }
    };
    Outcome {
        seen,
        verdict,
        is_handed_back,
        executed: server.map_or(0, |server| server.executed(CALL)),
        connections: server.map_or(0, FaultyServer::connections_accepted),
        handshakes: server.map_or(0, FaultyServer::handshakes),
    }
}

fn request(id: &str, body: RequestBody) -> Request<RequestBody> {
    Request::post("http://service/commit").header("x-request-id", id).body(body).expect("a request")
}

async fn body(kind: OwnBody) -> RequestBody {
    let error: BoxError = match kind {
        OwnBody::Whole => return Full::new(Bytes::from_static(b"a body")).map_err(|never| match never {}).boxed(),
        OwnBody::Fails => OwnError.into(),
        OwnBody::FailsToConnect => refused_elsewhere().await.into(),
    };
    let parts = [Ok(Frame::data(Bytes::from_static(b"a half"))), Err(error)];
    BodyExt::boxed(StreamBody::new(stream::iter(parts)))
}

/// What another client says of a connection that was refused.
async fn refused_elsewhere() -> legacy::Error {
    let nobody = FaultyServer::refused_address().expect("a port is free");
    let client = legacy::Client::builder(TokioExecutor::new()).build_http::<RequestBody>();
    let error = client.get(nobody.origin().parse().expect("a URI")).await.expect_err("nobody listens");
    assert!(error.is_connect());
    error
}
