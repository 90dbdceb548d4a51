//! Bodies that outlive their call.

use tower_recovery::{Delivery, Failure};
use tower_recovery_http::Unterminated;
use tower_recovery_test::{Act, FaultyServer};

use super::{
    SEES_ENDS, bounded, door,
    library::{Error, Response},
    server, streaming,
    wire::TrailersServer,
};

/// What ends a body of which "half" comes, in the words of reqwest and in those of the stack.
async fn broken(mut response: Response) -> Failure {
    assert_eq!(bounded(response.chunk()).await.expect("a half comes"), Some("half".into()));
    let error: Error = bounded(response.chunk()).await.expect_err("it is broken");
    assert!(matches!(bounded(response.chunk()).await, Ok(None)), "it has ended");
    Failure::recover(error.into())
}

#[tokio::test]
async fn a_stream_that_is_cut_off_says_so_and_the_next_call_goes_elsewhere() {
    for act in [Act::PartialBody { sent: 4 }, Act::PartialBodyThenReset { sent: 4 }] {
        let half = |_: &http::Request<_>| http::Response::new("half of it".into());
        let dying = FaultyServer::builder().application(half).script([act]).start().await.unwrap();
        let next = server([]).await;
        let api = streaming(door([dying.origin(), next.origin()]), |client| client).unwrap();

        let failure = broken(bounded(api.post("/commit").send()).await.unwrap()).await;

        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true), "{act:?}: {failure:?}");
        assert!(failure.lease().is_some() && failure.find::<Error>().is_some(), "{act:?}: {failure:?}");
        bounded(api.post("/commit").send()).await.unwrap();
        assert_eq!((dying.requests_read(), next.requests_executed()), (1, 1), "{act:?}");
    }
}

const CLOSED: &str = "HTTP/1.1 200 OK\r\n\r\nhalf";

#[tokio::test]
async fn an_end_of_the_connection_is_none_of_the_body_where_that_can_be_seen() {
    let server = TrailersServer::writing([CLOSED]).await;
    let api = streaming(door([server.origin()]), |client| client).unwrap();
    let call = || api.post("/commit").with(|request| request.body("a body"));
    if SEES_ENDS {
        let failure = broken(bounded(call().send()).await.unwrap()).await;
        assert!(failure.find::<Unterminated>().is_some() && !failure.is_stale(), "{failure:?}");
    } else {
        assert_eq!(bounded(call().send()).await.unwrap().text().await.unwrap(), "half");
    }
    let trusting = streaming(door([server.origin()]).trust_close_delimited(), |client| client).unwrap();
    let call = trusting.post("/commit").with(|request| request.body("a body"));
    assert_eq!(bounded(call.send()).await.unwrap().text().await.unwrap(), "half");
}

#[cfg(feature = "http2")]
#[tokio::test]
async fn a_reset_with_no_error_is_no_end_where_that_can_be_seen_and_a_marked_one_is() {
    let server = TrailersServer::resetting_first(h2::Reason::NO_ERROR).await;
    let api = streaming(door([server.origin()]), |client| client.http2_prior_knowledge()).unwrap();
    let mut reset = bounded(api.post("/commit").send()).await.unwrap();
    assert_eq!(bounded(reset.chunk()).await.unwrap().unwrap(), "done");
    match bounded(reset.chunk()).await {
        Ok(end) => assert!(end.is_none() && !SEES_ENDS),
        Err(error) => {
            let failure = Failure::recover(error.into());
            assert!(SEES_ENDS && failure.find::<Unterminated>().is_some() && !failure.is_stale(), "{failure:?}");
        }
    }
    assert_eq!(bounded(api.post("/commit").send()).await.unwrap().text().await.unwrap(), "done");
}

/// A length is a length, whatever else is hidden.
#[cfg(feature = "http2")]
#[tokio::test]
async fn a_reset_with_no_error_below_the_length_has_ended_early() {
    use tower_recovery_http::EndedEarly;
    use tower_recovery_test::faulty::ErrorCode;

    let act = Act::PartialBodyThenResetStream { sent: 4, code: ErrorCode::NO_ERROR };
    let half = |_: &http::Request<_>| http::Response::new("half of it".into());
    let server = FaultyServer::builder().application(half).script([act]).http2().start().await.unwrap();
    let api = streaming(door([server.origin()]), |client| client.http2_prior_knowledge()).unwrap();
    let failure = broken(bounded(api.post("/commit").send()).await.unwrap()).await;
    let early = failure.find::<EndedEarly>().unwrap();
    assert_eq!((early.received, early.promised, failure.is_stale()), (4, 10, false));
}
