//! What comes after the end.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, Response, header::CONTENT_TYPE};
use http_body::{Body, Frame};
use http_body_util::Full;
use tower::{ServiceExt, service_fn};
use tower_recovery_http::{HttpClassifier, HttpRules, HttpStreams, ReadRoutes, sse::SseRules};
use tower_recovery_test::faulty::{StreamEnd, StreamEnding};

use super::support::{Model, Wire, bounded, complete, question, replacing, saying, texts, watching};

#[tokio::test]
async fn b78_the_terminal_event_ends_a_stream_whose_body_never_ends() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, complete(["1", "2", "3"]).then(StreamEnding::Silence)).await;
        let whole = model.whole(watching(1)).await.unwrap();
        assert_eq!(texts(&whole.items), ["1", "2", "3", "[DONE]"]);
        assert_eq!((model.calls(), model.probes(), whole.report.attempts), (1, 0, 1));
        let left = bounded(model.server.streamed_answers()[0].wait_until_ended()).await;
        assert!(matches!(left, StreamEnd::ClientLeft { .. }), "it is not read any further: {left:?}");
        if wire == Wire::Http1 {
            // Not returned to a pool: there would be no telling the next answer from the rest of this one.
            bounded(model.server.wait_until_open(0)).await;
        }
    }
}

#[tokio::test]
async fn b78_a_reset_right_after_the_terminal_event_breaks_nothing() {
    for wire in Wire::all() {
        for cut in wire.cuts() {
            let model = Model::streaming(wire, complete(["1", "2", "3"]).then(cut)).await;
            let whole = model.whole(replacing(1)).await.unwrap();
            assert_eq!(texts(&whole.items), ["1", "2", "3", "[DONE]"], "{wire:?} {cut:?}");
            assert_eq!((model.calls(), whole.report.attempts), (1, 1));
        }
    }
}

#[tokio::test]
async fn b85_after_its_error_a_stream_gives_nothing_more() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, saying(["one"]).then(wire.reset())).await;
        bounded(async {
            let admitted = model.chat(replacing(1)).until_first_item().oneshot(question()).await.unwrap();
            let mut items = pin!(admitted.items);
            assert!(items.next().await.unwrap().is_ok());
            assert!(items.next().await.unwrap().is_err());
            for _ in 0..3 {
                assert!(items.next().await.is_none());
            }
        })
        .await;
    }
}

#[tokio::test]
async fn b85_after_its_verdict_a_stream_gives_nothing_more() {
    for wire in Wire::all() {
        let script = saying(["one", r#"{"error": {"message": "no"}}"#, "more"]).then(StreamEnding::Silence);
        let model = Model::streaming(wire, script).await;
        bounded(async {
            let admitted = model.chat(watching(1)).until_first_item().oneshot(question()).await.unwrap();
            let items: Vec<_> = admitted.items.map(Result::unwrap).collect().await;
            assert_eq!(texts(&items), ["one", r#"{"error": {"message": "no"}}"#]);
        })
        .await;
        assert_eq!(model.calls(), 1);
    }
}

/// One event, and then the same error for ever, or a panic.
struct Endless {
    polled: u32,
    panics: bool,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.polled += 1;
        Poll::Ready(Some(match self.polled {
            1 => Ok(Frame::data(Bytes::from_static(b"data: one\n\n"))),
            3.. if self.panics => panic!("polled after its end"),
            _ => Err(io::ErrorKind::ConnectionReset.into()),
        }))
    }
}

#[tokio::test]
async fn b85_a_body_is_not_asked_again_after_its_error() {
    for panics in [false, true] {
        let api = service_fn(move |_: Request<Full<Bytes>>| async move {
            let body = Endless { polled: 0, panics };
            let response = Response::builder().header(CONTENT_TYPE, "text/event-stream").body(body);
            Ok::<_, Infallible>(response.expect("a response"))
        });
        let streams =
            HttpStreams::over(api, api, HttpRules::new(ReadRoutes::safe()), HttpClassifier::new(), replacing(1))
                .sse(SseRules::openai_chat())
                .until_first_item();
        let admitted = streams.oneshot(question()).await.unwrap();
        let items: Vec<_> = admitted.items.map(|item| item.is_ok()).collect().await;
        assert_eq!(items, [true, false]);
    }
}
