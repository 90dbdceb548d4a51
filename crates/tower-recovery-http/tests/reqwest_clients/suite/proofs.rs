//! What each fault proves, what is repeated, and what was executed.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use tower_recovery::{AttemptTimedOut, Delivery, GiveUp};
use tower_recovery_http::{BodyTooLong, IncompleteBody};
use tower_recovery_test::{Act, FaultyServer};

use super::{
    bounded, door,
    library::{Body, Client, Error},
    server, streaming, unary,
};

fn of_parts(parts: impl IntoIterator<Item = Result<&'static str, Error>, IntoIter: Send + Sync + 'static>) -> Body {
    let frames = parts.into_iter().map(|part| part.map(|text| Frame::data(Bytes::from_static(text.as_bytes()))));
    Body::wrap(StreamBody::new(stream::iter(frames)))
}

#[tokio::test]
async fn a_write_that_meets_a_refused_connection_is_executed_once_by_the_next_instance() {
    let refused = FaultyServer::refused_address().unwrap();
    let alive = server([]).await;
    let api = unary(door([refused.origin(), alive.origin()]), |client| client).unwrap();

    let call = api.post("/commit").with(|request| request.header("x-request-id", "write").body("once"));
    assert_eq!(bounded(call.send()).await.unwrap().text().await.unwrap(), "done");
    assert_eq!((alive.executed("write"), alive.requests_read()), (1, 1));
}

#[tokio::test]
async fn a_write_that_a_server_has_read_is_sent_once_and_its_fate_is_said() {
    for (act, executed) in [
        (Act::ReadThenClose, 0),
        (Act::ReadThenReset, 0),
        (Act::RunThenClose, 1),
        (Act::RunThenReset, 1),
        (Act::PartialHead, 1),
        (Act::PartialBody { sent: 1 }, 1),
        (Act::PartialBodyThenReset { sent: 1 }, 1),
    ] {
        let (dying, next) = (server([act]).await, server([]).await);
        let api = unary(door([dying.origin(), next.origin()]), |client| client).unwrap();

        let failure = bounded(api.post("/commit").with(|request| request.body("once")).send()).await.unwrap_err();

        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{act:?}: {failure:?}");
        assert!(failure.is_stale() && failure.find::<Error>().is_some(), "{act:?}: {failure:?}");
        let is_short = matches!(act, Act::PartialBody { .. } | Act::PartialBodyThenReset { .. });
        assert_eq!(failure.find::<IncompleteBody>().is_some(), is_short, "{act:?}: {failure:?}");
        assert_eq!((dying.requests_executed(), next.requests_read()), (executed, 0), "{act:?}");
        bounded(api.post("/commit").send()).await.unwrap();
        assert_eq!((dying.requests_read(), next.requests_executed()), (1, 1), "{act:?}: the next call goes elsewhere");
    }
}

#[tokio::test]
async fn a_read_is_repeated_and_only_the_repeat_is_silent() {
    for act in [Act::ReadThenClose, Act::RunThenReset, Act::PartialBody { sent: 1 }] {
        let (dying, next) = (server([act]).await, server([]).await);
        let api = unary(door([dying.origin(), next.origin()]), |client| client).unwrap();

        let response = bounded(api.get("/read?id=1").send()).await.unwrap();

        assert_eq!(response.url().query(), Some("id=1&silent=true"), "{act:?}");
        assert_eq!(response.text().await.unwrap(), "done");
        assert!(dying.executions().iter().all(|run| run.query.as_deref() == Some("id=1")), "{act:?}");
        assert_eq!((dying.requests_read(), next.requests_executed()), (1, 1), "{act:?}");
        assert_eq!(next.executions()[0].query.as_deref(), Some("id=1&silent=true"), "{act:?}");
    }
}

#[tokio::test]
async fn a_failure_tells_its_url_without_the_query_which_may_be_a_token() {
    let server = server([Act::RunThenClose]).await;
    let api = unary(door([server.origin()]), |client| client).unwrap();
    let failure = bounded(api.post("/commit?token=secret").send()).await.unwrap_err();
    let error = failure.find::<Error>().unwrap();
    assert_eq!(error.url().unwrap().as_str(), format!("{}/commit", server.origin()));
    assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
    assert_eq!(server.executions()[0].query.as_deref(), Some("token=secret"));
}

#[tokio::test]
async fn a_write_with_a_key_is_repeated_where_keys_are_trusted() {
    for (trusted, executed) in [(false, 1), (true, 2)] {
        let server = server([Act::RunThenClose]).await;
        let door = door([server.origin()]);
        let api = unary(if trusted { door.trust_idempotency_keys() } else { door }, |client| client).unwrap();
        let outcome = bounded(api.post("/pay").with(|request| request.header("idempotency-key", "7")).send()).await;
        assert_eq!((outcome.is_ok(), server.requests_executed()), (trusted, executed));
    }
}

#[tokio::test]
async fn a_body_over_the_front_doors_limit_is_an_answer_that_cannot_be_used() {
    let server = server([]).await;
    let api = unary(door([server.origin()]).body_limit(3), |client| client).unwrap();
    let failure = bounded(api.get("/list").send()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.find::<BodyTooLong>().unwrap().limit), (Some(Delivery::Answered), 3));
    assert_eq!(server.requests_read(), 1);
}

#[tokio::test]
async fn a_body_that_flows_is_sent_once_and_the_failure_says_that_there_is_no_request_left() {
    let refused = FaultyServer::refused_address().unwrap();
    let alive = server([]).await;
    let api = unary(door([refused.origin(), alive.origin()]), |client| client).unwrap();
    let call = || api.post("/commit").with(|request| request.body(of_parts([Ok("a "), Ok("stream")])));

    let failure = bounded(call().send()).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 1), "{failure:?}");
    assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::NoRequest), false));
    bounded(call().send()).await.unwrap();
    assert_eq!(alive.requests_executed(), 1, "the next call finds the next instance");
}

/// Law 1. reqwest's own `is_connect` says yes here, since it looks along the whole chain, into the body's error too.
#[tokio::test]
async fn a_connection_that_was_refused_to_the_source_of_a_body_proves_nothing_of_the_request_that_carried_it() {
    let refused = FaultyServer::refused_address().unwrap();
    let source = Client::builder().no_proxy().build().unwrap();
    let of_the_source = bounded(source.get(refused.origin()).send()).await.unwrap_err();
    assert!(of_the_source.is_connect());

    let (asked, next) = (server([]).await, server([]).await);
    let api = unary(door([asked.origin(), next.origin()]), |client| client).unwrap();
    let body = of_parts([Ok("half of it"), Err(of_the_source)]);
    let failure = bounded(api.post("/commit").with(|request| request.body(body)).send()).await.unwrap_err();

    assert!(failure.find::<Error>().unwrap().is_connect(), "the trap is there");
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{failure:?}");
    assert!(!failure.is_stale(), "the handle did nothing wrong");
    assert_eq!(next.connections_accepted(), 0);
}

#[tokio::test]
async fn a_time_out_after_the_request_was_read_is_maybe_sent_whoevers_it_is() {
    let limit = Duration::from_millis(500);
    for of_reqwest in [true, false] {
        let (frozen, next) = (server([Act::RunThenFreeze]).await, server([]).await);
        let door = door([frozen.origin(), next.origin()]);
        let api = if of_reqwest {
            unary(door, move |client| client.timeout(limit)).unwrap()
        } else {
            unary(door.attempt_timeout(limit), |client| client).unwrap()
        };
        let failure = bounded(api.post("/commit").send()).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true), "{failure:?}");
        assert_eq!(failure.find::<AttemptTimedOut>().is_none(), of_reqwest);
        assert_eq!((frozen.requests_executed(), next.connections_accepted()), (1, 0));
    }
}

#[tokio::test]
async fn a_refusal_is_repeated_up_to_the_cap_and_comes_out_as_the_response_that_it_is() {
    let server = FaultyServer::builder()
        .application(|_| {
            http::Response::builder().status(425).body(Bytes::from_static(b"too early")).expect("a response")
        })
        .start()
        .await
        .unwrap();
    let response = bounded(unary(door([server.origin()]), |client| client).unwrap().post("/x").send()).await.unwrap();
    assert_eq!((response.status().as_u16(), response.url().path()), (425, "/x"));
    assert_eq!(response.text().await.unwrap(), "too early");
    assert_eq!(server.requests_read(), 3);

    let response =
        bounded(streaming(door([server.origin()]), |client| client).unwrap().post("/x").send()).await.unwrap();
    assert_eq!(bounded(response.text()).await.unwrap(), "too early");
    assert_eq!(server.requests_read(), 6);
}
