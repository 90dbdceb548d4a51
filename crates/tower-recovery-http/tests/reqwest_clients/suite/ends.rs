//! Whether an answer that is collected has come to its end.

use super::{bounded, door, unary, wire::TrailersServer};

/// Whatever is seen of ends: servers of HTTP/1.0 delimit all of their answers so.
#[tokio::test]
async fn an_answer_that_the_end_of_its_connection_delimits_is_taken_for_whole() {
    let server = TrailersServer::writing(["HTTP/1.1 200 OK\r\n\r\ndone"]).await;
    let api = unary(door([server.origin()]), |client| client).unwrap();
    let response = bounded(api.post("/commit").with(|request| request.body("a body")).send()).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "done");
}

#[cfg(feature = "http2")]
mod http2 {
    use bytes::Bytes;
    use tower_recovery::Delivery;
    use tower_recovery_http::{EndedEarly, IncompleteBody, Unterminated};
    use tower_recovery_test::{
        Act, FaultyServer,
        faulty::{ErrorCode, StreamEnding, StreamScript},
    };

    use super::{super::SEES_ENDS, *};

    /// Where the end can be seen: a write that may have been executed, and a read that is repeated, over the same connection.
    #[tokio::test]
    async fn an_answer_without_a_length_that_is_reset_with_no_error_is_short_where_that_can_be_seen() {
        for sent in ["", "half"] {
            let whole = StreamScript::new().send(sent);
            let reset = whole.clone().then(StreamEnding::ResetStream { code: ErrorCode::NO_ERROR });
            let server = FaultyServer::builder()
                .script(vec![Act::Stream; 4])
                .streams(vec![whole.clone(), reset.clone(), reset, whole])
                .http2()
                .start()
                .await
                .unwrap();
            let api = unary(door([server.origin()]), |client| client.http2_prior_knowledge()).unwrap();
            let response = bounded(api.post("/commit").send()).await.unwrap();
            assert_eq!(response.text().await.unwrap(), sent, "a marked end is one");

            match bounded(api.post("/commit").send()).await {
                Ok(response) => assert!(!SEES_ENDS && response.text().await.unwrap() == sent),
                Err(failure) => {
                    assert!(SEES_ENDS && failure.find::<IncompleteBody>().is_some(), "{failure:?}");
                    assert!(failure.find::<Unterminated>().is_some() && !failure.is_stale(), "{failure:?}");
                    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{failure:?}");
                }
            }
            assert_eq!(server.requests_executed(), 2, "a write is executed once");
            let response = bounded(api.get("/read").send()).await.unwrap();
            assert_eq!(response.text().await.unwrap(), sent);
            assert_eq!((server.requests_executed(), server.connections_accepted()), (if SEES_ENDS { 4 } else { 3 }, 1));
        }
    }

    /// A length is a length, whatever else is hidden.
    #[tokio::test]
    async fn an_answer_that_is_reset_with_no_error_below_its_length_is_short() {
        let act = Act::PartialBodyThenResetStream { sent: 2, code: ErrorCode::NO_ERROR };
        let server = FaultyServer::builder()
            .application(|_| http::Response::new(Bytes::from_static(b"done")))
            .script([act])
            .http2()
            .start()
            .await
            .unwrap();
        let api = unary(door([server.origin()]), |client| client.http2_prior_knowledge()).unwrap();
        let failure = bounded(api.post("/commit").send()).await.unwrap_err();
        let early = failure.find::<EndedEarly>().unwrap();
        assert_eq!((early.received, early.promised, early.version), (2, 4, http::Version::HTTP_2));
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), false), "{failure:?}");
    }
}
