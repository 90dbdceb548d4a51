//! Field reports whose input is a socket: of Reresolve and of ReadOnlyRetry. Those of Classify stand in `http1.rs`.

mod support;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use tower::ServiceExt;
use tower_recovery::{Delivery, GiveUp};
use tower_recovery_http::{AnswerRule, ReadRoutes, SentOnce};
use tower_recovery_test::{Act, FaultyServer, faulty::RequestContext};

use self::support::{NAME, call, door, read, registry_of, request, write};

/// Answers the first request, and 503 to whatever comes after it on the first connection.
async fn leaving_balancer() -> FaultyServer {
    let answered = Mutex::new(0);
    FaultyServer::builder()
        .application(move |_| {
            let mut answered = answered.lock().expect("no holder panics");
            *answered += 1;
            let mut response = Response::new(Bytes::from_static(b"done"));
            if *answered == 2 {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response.headers_mut().insert("x-leaving", "1".parse().expect("a value"));
            }
            response
        })
        .start()
        .await
        .expect("a port is free")
}

#[tokio::test]
async fn b40_a_refusal_on_a_live_connection_is_an_answer_and_evicts_only_by_a_rule() {
    for ruled in [false, true] {
        let server = leaving_balancer().await;
        let registry = registry_of(&server).await;
        let leaving = AnswerRule::status(StatusCode::SERVICE_UNAVAILABLE);
        let leaving = leaving.with_header(HeaderName::from_static("x-leaving"));
        let door = if ruled { door(&registry).stale_if(leaving) } else { door(&registry) };
        let api = door.build().unwrap();
        let mut statuses = Vec::new();
        for id in ["1", "2", "3"] {
            statuses.push(api.clone().oneshot(read(id)).await.expect("each is answered").status().as_u16());
        }
        assert_eq!(statuses, [200, 503, 200], "the 503 goes out, and is not sent again");
        assert_eq!(server.requests_read(), 3);
        let connections = if ruled { 2 } else { 1 };
        assert_eq!(
            server.connections_accepted(),
            connections,
            "the next call opens another connection by the rule alone"
        );
        assert_eq!(registry.look_ups(NAME), connections);
    }
}

#[tokio::test]
async fn b41_a_connection_that_stalls_is_left_for_a_new_one_to_the_same_address() {
    let server = FaultyServer::builder()
        .application(|_| Response::new(Bytes::from_static(b"done")))
        .script(|request: &RequestContext| match (request.connection, request.number_on_connection) {
            (1, 2..) => Act::FreezeThenRun,
            _ => Act::Answer,
        })
        .start()
        .await
        .unwrap();
    let mut api = door(&registry_of(&server).await).attempt_timeout(Duration::from_millis(400)).build().unwrap();
    call(&mut api, write("first")).await.unwrap();

    let failure = call(&mut api, write("stalled")).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true));
    call(&mut api, write("next")).await.unwrap();
    assert_eq!((server.executed("stalled"), server.executed("next")), (0, 1));
    assert_eq!(server.connections_accepted(), 2);
}

#[tokio::test]
async fn b59_a_repeat_goes_out_with_its_whole_body_or_not_at_all() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let server = FaultyServer::builder()
        .application(move |request| {
            seen.lock().expect("no holder panics").push(request.body().clone());
            Response::new(Bytes::from_static(b"done"))
        })
        .script([Act::RunThenClose, Act::Answer, Act::RunThenClose])
        .start()
        .await
        .unwrap();
    let registry = registry_of(&server).await;
    let search = || ReadRoutes::listed_only().read(Method::POST, "/search").unwrap();

    // (a) Bytes are copied: the second attempt is the first to the byte.
    let mut api = door(&registry).reads(search()).build().unwrap();
    call(&mut api, request(Method::POST, "/search", "bytes")).await.unwrap();
    assert_eq!(*bodies.lock().unwrap(), ["a body", "a body"]);

    // (b) A stream is taken once: the read is not repeated, and says what became of it.
    let frames = ["a ", "stream"].map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from_static(part.as_bytes()))));
    let streamed = request(Method::POST, "/search", "stream");
    let streamed = streamed.map(|_| SentOnce::new(StreamBody::new(stream::iter(frames))));
    let api = door(&registry).reads(search()).build().unwrap();
    let failure = api.oneshot(streamed).await.unwrap_err();
    assert_eq!(failure.gave_up(), Some(GiveUp::NoRequest));
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert_eq!(
        (server.executed("stream"), bodies.lock().unwrap().last().unwrap().as_ref()),
        (1, b"a stream".as_slice())
    );
}
