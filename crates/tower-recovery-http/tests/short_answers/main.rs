//! Answers that come early, or not wholly.

#[cfg(feature = "http2")]
mod http2;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tower_recovery::Delivery;
use tower_recovery_http::{EndedEarly, IncompleteBody, Origin};
use tower_recovery_test::{
    Act, FaultyServer, Registry,
    faulty::{ErrorCode, Until},
};

use self::support::{
    Client, NAME, bounded, read, registry_of,
    wire::{ANSWER_WITH_TRAILERS, TrailersServer},
    write,
};

/// What the entry's server sends of the 1064 bytes that its head promises.
const SENT: usize = 500;

/// Every way in which an answer ends after its head and a part of its body. Over HTTP/2, the last one ends *cleanly* for hyper.
const SHORT: [Act; 4] = [
    Act::PartialBody { sent: SENT },
    Act::PartialBodyThenReset { sent: SENT },
    Act::PartialBodyThenResetStream { sent: SENT, code: ErrorCode::CANCEL },
    Act::PartialBodyThenResetStream { sent: SENT, code: ErrorCode::NO_ERROR },
];

async fn list_server(client: Client, status: StatusCode, acts: Vec<Act>) -> FaultyServer {
    let list = move |_: &Request<Bytes>| {
        let mut response = Response::new(Bytes::from(vec![b'x'; 1064]));
        *response.status_mut() = status;
        response
    };
    client.serve(|server| server.application(list).script(acts)).await
}

/// B17: a status is no answer yet. A read is repeated, and asks not to be counted; a write is not, and the error says what its head was.
#[tokio::test]
async fn b17_a_success_whose_body_is_short_is_maybe_sent() {
    for client in Client::all() {
        for act in SHORT {
            let row = format!("{client:?}, {act:?}");
            let server = list_server(client, StatusCode::OK, vec![act, act]).await;
            let api = client.api(&registry_of(&server).await);
            let failure = bounded(api.send(write("write"))).await.unwrap_err();
            assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{row}");
            assert_eq!(failure.find::<IncompleteBody>().unwrap().status, StatusCode::OK, "{row}");
            assert_eq!(server.executed("write"), 1, "{row}");
            let is_of_one_stream = !client.is_http1() && matches!(act, Act::PartialBodyThenResetStream { .. });
            assert_eq!(failure.is_stale(), !is_of_one_stream, "{row}");
            if !client.is_http1() && act == SHORT[3] {
                let early = *failure.find::<EndedEarly>().unwrap();
                assert_eq!((early.received, early.promised), (SENT as u64, 1064), "{row}");
            } else if !matches!(act, Act::PartialBodyThenResetStream { .. }) {
                bounded(api.sees_the_end()).await;
            }

            assert_eq!(bounded(api.text(read("read"))).await.unwrap().len(), 1064, "{row}");
            assert_eq!(server.executed("read"), 2, "{row}");
            let queries: Vec<_> = server.executions().into_iter().map(|run| run.query).collect();
            assert_eq!(queries, [None, None, Some("silent=true".to_owned())], "{row}");
        }
    }
}

/// B17: what is no success is a verdict, however short its reasons. It comes as an error, since there is no whole response to give.
#[tokio::test]
async fn b17_a_verdict_whose_body_is_short_stays_a_verdict() {
    for client in Client::all() {
        for status in [StatusCode::NOT_FOUND, StatusCode::INTERNAL_SERVER_ERROR] {
            for act in SHORT {
                let server = list_server(client, status, vec![act]).await;
                let api = client.api(&registry_of(&server).await);
                let failure = bounded(api.send(read("read"))).await.unwrap_err();
                assert_eq!(
                    (failure.delivery(), failure.attempts()),
                    (Some(Delivery::Answered), 1),
                    "{client:?}, {act:?}"
                );
                assert_eq!(failure.find::<IncompleteBody>().unwrap().status, status, "{client:?}, {act:?}");
                assert_eq!(server.executed("read"), 1, "{client:?}, {act:?}");
            }
        }
    }
}

/// B17: trailers belong to an answer. They come out with it, and without their end it is short.
#[tokio::test]
async fn b17_trailers_arrive_and_an_answer_that_ends_before_them_is_short() {
    for client in Client::HTTP1 {
        for missing in 0..=2 {
            let whole = ANSWER_WITH_TRAILERS;
            // Without the empty line; and without the trailers, which come after the last chunk.
            let cut = [whole.len(), whole.len() - 2, whole.find("x-sum: 7").unwrap()][missing];
            let server = TrailersServer::writing([&whole[..cut], whole]).await;
            let api = client.api(&registry(&server));
            if missing > 0 {
                let failure = bounded(api.send(write("write"))).await.unwrap_err();
                assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{client:?}, {missing}");
                assert_eq!(failure.find::<IncompleteBody>().unwrap().status, StatusCode::OK, "{client:?}, {missing}");
                bounded(api.sees_the_end()).await;
            }
            let body = bounded(api.send(write("write"))).await.unwrap().into_body();
            assert_eq!(body.trailers().unwrap()["x-sum"], "7", "{client:?}, {missing}");
            assert_eq!(body.to_bytes(), "done", "{client:?}, {missing}");
            assert_eq!(server.answered(), if missing > 0 { 2 } else { 1 }, "{client:?}, {missing}");
        }
    }
}

/// B17: what ends with its connection, and promised nothing, cannot be checked: there are servers that answer nothing else.
#[tokio::test]
async fn b17_an_answer_that_the_end_of_its_connection_delimits_is_taken_for_whole() {
    for client in Client::HTTP1 {
        for answer in ["HTTP/1.1 200 OK\r\n\r\ndone", "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\ndone"] {
            let server = TrailersServer::writing([answer]).await;
            let body = bounded(client.api(&registry(&server)).text(write("write"))).await.unwrap();
            assert_eq!(body, "done", "{client:?}, {answer}");
        }
    }
}

fn upload() -> Request<Full<Bytes>> {
    support::request(Method::POST, "/commit", "upload").map(|_| Full::from(vec![b'x'; 10 << 20]))
}

/// B13: ten MiB to a server that says 413 to the head, ends its side and reads nothing. While the socket lasts, hyper reads the answer beside
/// its own writing, and the answer counts.
#[tokio::test]
async fn b13_an_early_verdict_reaches_the_caller_although_the_upload_was_not_read() {
    for client in Client::all() {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        let server = client.serve(|server| server.script([Act::RejectAtHead { status, unread: Until::Thaw }])).await;
        let api = client.api(&registry_of(&server).await);
        assert_eq!(bounded(api.send(upload())).await.unwrap().status(), status, "{client:?}");
        server.thaw();
        bounded(api.send(write("next"))).await.unwrap();
        assert_eq!((server.executed("upload"), server.executed("next")), (0, 1), "{client:?}");
        assert_eq!(server.requests_read(), 1, "{client:?}: the upload was sent once, and never read to its end");
    }
}

/// B13: the reset that follows at once may take the answer with it, and whether it does is the systems' choice. It is sent once in any case: as an
/// answer, or as an upload that may have been executed.
#[tokio::test]
async fn b13_an_early_verdict_that_a_reset_has_swallowed_is_maybe_sent_and_not_repeated() {
    for client in Client::all() {
        for unread in [Duration::ZERO, Duration::from_millis(50)] {
            let act = Act::RejectAtHead { status: StatusCode::PAYLOAD_TOO_LARGE, unread: Until::Elapsed(unread) };
            let server = client.serve(|server| server.script([act])).await;
            let api = client.api(&registry_of(&server).await);
            match bounded(api.send(upload())).await {
                Ok(response) => assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE, "{client:?}"),
                Err(failure) => assert_eq!(
                    (failure.delivery(), failure.attempts()),
                    (Some(Delivery::MaybeSent), 1),
                    "{client:?}: {failure:?}"
                ),
            }
            assert_eq!((server.executed("upload"), server.connections_accepted()), (0, 1), "{client:?}");
        }
    }
}

fn registry(server: &TrailersServer) -> Registry<Origin> {
    let registry = Registry::new();
    registry.register(NAME, "first", server.origin().parse().expect("an origin"));
    registry
}
