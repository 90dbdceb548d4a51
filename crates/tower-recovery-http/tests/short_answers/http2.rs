//! Over HTTP/2, where hyper gives out some ends that are none.

use std::convert::Infallible;

use futures_util::stream;
use http_body::Frame as HttpFrame;
use http_body_util::StreamBody;
use tower::ServiceExt;
use tower_recovery::Failure;
use tower_recovery_http::{CollectedBody, Protocol, SentOnce, Transport, UnprovenEnd, Unterminated};
use tower_recovery_test::faulty::{StreamEnding, StreamScript};

use super::{support::wire::Frame, *};

const RESET: StreamEnding = StreamEnding::ResetStream { code: ErrorCode::NO_ERROR };

/// hyper ends such a body like a whole one. It is the end of one stream: the connection serves what follows.
#[tokio::test]
async fn b17_a_success_without_a_length_that_is_reset_with_no_error_is_maybe_sent() {
    for client in Client::HTTP2 {
        for sent in ["", "half"] {
            let row = format!("{client:?}, {sent:?}");
            let half = StreamScript::new().send(sent);
            let scripts = vec![half.clone().then(RESET), half.clone().then(RESET), half];
            let server = client.serve(|server| server.script(vec![Act::Stream; 3]).streams(scripts)).await;
            let registry = registry_of(&server).await;
            let api = client.api(&registry);

            let failure = bounded(api.send(write("write"))).await.unwrap_err();

            assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{row}");
            assert_eq!(failure.find::<IncompleteBody>().unwrap().status, StatusCode::OK, "{row}");
            let unproven = failure.find::<Unterminated>().unwrap();
            assert_eq!((unproven.received, unproven.end), (sent.len() as u64, UnprovenEnd::Reset), "{row}");
            assert!(!failure.is_stale() && server.executed("write") == 1, "{row}: {failure:?}");

            assert_eq!(bounded(api.text(read("read"))).await.unwrap(), sent, "{row}");
            let queries: Vec<_> = server.executions().into_iter().map(|run| run.query).collect();
            assert_eq!(queries, [None, None, Some("silent=true".to_owned())], "{row}");
            assert_eq!((registry.look_ups(NAME), server.connections_accepted()), (1, 1), "{row}");
        }
    }
}

#[tokio::test]
async fn b17_a_verdict_without_a_length_that_is_reset_with_no_error_stays_a_verdict() {
    for client in Client::HTTP2 {
        let script = StreamScript::new().send("half").then(RESET);
        let missing = |_: &Request<Bytes>| Response::builder().status(404).body(Bytes::new()).unwrap();
        let server = client.serve(|server| server.application(missing).streams(script)).await;
        let failure = bounded(client.api(&registry_of(&server).await).send(read("read"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::Answered), 1), "{client:?}");
        assert_eq!(failure.find::<IncompleteBody>().unwrap().status, StatusCode::NOT_FOUND, "{client:?}");
        assert!(failure.find::<Unterminated>().is_some() && !failure.is_stale(), "{client:?}: {failure:?}");
    }
}

#[tokio::test]
async fn b17_trailers_arrive_and_a_stream_that_is_reset_before_them_is_short() {
    for client in Client::HTTP2 {
        for reason in [h2::Reason::INTERNAL_ERROR, h2::Reason::NO_ERROR] {
            let server = TrailersServer::resetting_first(reason).await;
            let api = client.api(&registry(&server));
            let failure = bounded(api.send(write("write"))).await.unwrap_err();
            assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{client:?}");
            assert_eq!(failure.find::<IncompleteBody>().unwrap().status, StatusCode::OK, "{client:?}, {reason:?}");
            let is_unproven = failure.find::<Unterminated>().is_some();
            assert_eq!(is_unproven, reason == h2::Reason::NO_ERROR, "{client:?}, {reason:?}");

            let body = bounded(api.send(read("read"))).await.unwrap().into_body();
            assert_eq!(body.trailers().unwrap()["x-sum"], "7", "{client:?}");
            assert_eq!((body.to_bytes(), server.answered()), (Bytes::from_static(b"done"), 2), "{client:?}");
        }
    }
}

const TO_THE_END: [&[Frame]; 3] = [
    &[Frame::HEAD, Frame::DONE.and_end(), Frame::RESET_WITH_NO_ERROR],
    &[Frame::HEAD, Frame::DONE, Frame::TRAILERS, Frame::RESET_WITH_NO_ERROR],
    &[Frame::HEAD.and_end(), Frame::RESET_WITH_NO_ERROR],
];

fn assert_is_whole(answer: Response<CollectedBody>, frames: &[Frame]) {
    let body = answer.into_body();
    let trailers = body.trailers().is_some();
    assert_eq!((body.to_bytes() == "done", trailers), (frames.len() > 2, frames.len() > 3), "{frames:?}");
}

#[tokio::test]
async fn b17_an_answer_that_has_ended_is_whole_whatever_comes_of_its_stream_after_that() {
    for client in Client::HTTP2 {
        for frames in TO_THE_END {
            for request in [write("write"), upload()] {
                let server = TrailersServer::framing([frames]).await;
                assert_is_whole(bounded(client.api(&registry(&server)).send(request)).await.unwrap(), frames);
                assert_eq!(server.answered(), 1, "{client:?}, {frames:?}");
            }
        }
    }
}

/// A server may have enough of a request that it has answered (RFC 9113 §8.1), and says so by the same reset. Before its 0.4.16, h2 forgot the end for it
/// where the request had none yet.
#[tokio::test]
async fn b17_an_answer_that_has_ended_is_whole_although_its_request_has_not() {
    for frames in TO_THE_END {
        let server = TrailersServer::framing([frames]).await;
        let transport = Transport::new().protocol(Protocol::Http2);
        let api = support::door(&registry(&server)).transport(transport).build().unwrap();
        let parts = stream::repeat_with(|| Ok::<_, Infallible>(HttpFrame::data(Bytes::from_static(&[b'x'; 1 << 14]))));
        let upload = write("upload").map(|_| SentOnce::new(StreamBody::new(parts)));
        assert_is_whole(bounded(api.oneshot(upload)).await.unwrap(), frames);
        assert_eq!(server.answered(), 1, "{frames:?}");
    }
}

async fn framed(client: Client, frames: &'static [Frame]) -> Failure {
    let server = TrailersServer::framing([frames]).await;
    let failure = bounded(client.api(&registry(&server)).send(write("write"))).await.expect_err("it is short");
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{failure:?}");
    assert_eq!(server.answered(), 1, "{failure:?}");
    failure
}

/// What ends an answer cleanly below its length is the peer's `NO_ERROR`: h2 itself checks an end that is marked, and a lost connection is an error.
#[tokio::test]
async fn b17_over_http2_an_answer_ends_early_by_no_error_alone() {
    const MARKED: &[Frame] = &[Frame::HEAD_OF_SEVEN, Frame::DONE.and_end()];
    const BY_NO_ERROR: [&[Frame]; 2] = [
        &[Frame::HEAD_OF_SEVEN, Frame::DONE, Frame::RESET_WITH_NO_ERROR],
        &[Frame::HEAD_OF_SEVEN, Frame::DONE, Frame::GO_AWAY_WITH_NO_ERROR],
    ];
    for client in Client::HTTP2 {
        for frames in BY_NO_ERROR {
            let failure = framed(client, frames).await;
            let early = failure.find::<EndedEarly>().unwrap();
            assert_eq!((early.received, early.promised, early.version), (4, 7, http::Version::HTTP_2));
            assert!(!failure.is_stale(), "{failure:?}");
        }
        let marked = framed(client, MARKED).await;
        assert!(marked.find::<EndedEarly>().is_none() && marked.is_stale(), "{marked:?}");
        let reason = marked.find::<h2::Error>().unwrap().reason();
        assert_eq!(reason, Some(h2::Reason::PROTOCOL_ERROR), "{marked:?}");
    }
}
