//! reqwest's own requests and responses, over a stream that is replaced.

use http_body_util::BodyExt;
use reqwest::{Request, Response, Url};
use tower::{Service, ServiceExt};
use tower_recovery::{Failure, stream_replacement::StreamReport};
use tower_recovery_http::{
    reqwest::{ReqwestStreams, into_response},
    sse::SseRules,
    streams::{AdmittedBody, WholeBody},
};
use tower_recovery_test::faulty::StreamEnding;

use super::support::{CHAT, HEALTH, Model, Wire, bounded, broken, complete, replacing, saying, watching};

fn request(method: reqwest::Method, path: &str) -> Request {
    let url = Url::parse("http://model.example").and_then(|url| url.join(path)).expect("a path joins a URL");
    let mut request = Request::new(method, url);
    *request.body_mut() = Some(r#"{"stream": true}"#.into());
    request
}

fn streams(model: &Model, wire: Wire, policy: tower_recovery::StreamPolicy) -> ReqwestStreams {
    let door = model.door().transport(tower_recovery_http::Transport::new());
    let streams = door.reqwest_streams(policy, move |client| match wire {
        Wire::Http1 => client.no_proxy(),
        #[cfg(feature = "http2")]
        Wire::Http2 => client.no_proxy().http2_prior_knowledge(),
    });
    streams.expect("the settings fit").probe(|| request(reqwest::Method::GET, HEALTH))
}

/// What a user writes, who knows nothing of what is below.
async fn text(mut client: impl Service<Request, Response = Response, Error = Failure>) -> reqwest::Result<String> {
    let client = client.ready().await.expect("it is ready");
    let response = client.call(request(reqwest::Method::POST, CHAT)).await.expect("it answers");
    assert_eq!(response.extensions().get::<StreamReport>().map(|report| report.attempts > 0), Some(true));
    response.error_for_status()?.text().await
}

const ANSWER: &str = "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn reqwest_reads_one_whole_answer_of_a_stream_that_broke_or_fell_silent() {
    for wire in Wire::all() {
        for ending in wire.cuts().into_iter().chain([StreamEnding::Silence]) {
            let model = Model::streaming(wire, [saying(["one"]).then(ending), complete(["1", "2"])]).await;
            let policy = if ending == StreamEnding::Silence { watching(1) } else { replacing(1) };
            let streams = streams(&model, wire, policy).sse(SseRules::openai_chat()).whole(1 << 20);
            let client = streams.map_response(WholeBody::of_whole).map_response(into_response);
            assert_eq!(bounded(text(client)).await.unwrap(), ANSWER, "{wire:?} {ending:?}");
            assert_eq!(model.calls(), 2);
        }
    }
}

#[tokio::test]
async fn reqwest_reads_events_as_they_come_and_an_error_that_says_what_broke_them() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying([]).then(wire.reset()), complete(["1", "2"])]).await;
        let client = |model: &Model| {
            let streams = streams(model, wire, replacing(1)).sse(SseRules::openai_chat()).until_first_item();
            streams.map_response(AdmittedBody::of).map_response(into_response)
        };
        assert_eq!((bounded(text(client(&model))).await.unwrap(), model.calls()), (ANSWER.to_owned(), 2));

        let model = Model::streaming(wire, [saying(["one"]).then(wire.reset()), complete(["1", "2"])]).await;
        let failure = Failure::recover(bounded(text(client(&model))).await.unwrap_err().into());
        assert_eq!((broken(&failure).report.attempts, model.calls()), (1, 1));
    }
}

#[tokio::test]
async fn a_response_of_reqwests_can_be_read_to_its_break() {
    let model = Model::streaming(Wire::Http1, saying(["one"]).then(StreamEnding::Close)).await;
    let streams = streams(&model, Wire::Http1, replacing(1)).sse(SseRules::openai_chat()).until_first_item();
    let client = streams.map_response(AdmittedBody::of).map_response(into_response);
    bounded(async {
        let response = client.oneshot(request(reqwest::Method::POST, CHAT)).await.unwrap();
        let mut body = http::Response::from(response).into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: one\n\n");
        assert!(body.frame().await.unwrap().is_err());
        assert!(body.frame().await.is_none());
    })
    .await;
}
