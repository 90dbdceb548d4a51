//! Clean ends: those that are, and those that only look like one.

use http::{Method, Response, header};
use tower_recovery::Delivery;
#[cfg(feature = "http2")]
use tower_recovery_http::EndedEarly;
use tower_recovery_http::{Origin, Protocol, UnprovenEnd, Unterminated};
use tower_recovery_test::Registry;
#[cfg(feature = "http2")]
use tower_recovery_test::{Act, faulty::ErrorCode};

use super::{api, protocols, read_out, send, serve};
use crate::support::{
    NAME, door, read, registry_of, request,
    wire::{ANSWER_WITH_TRAILERS, TrailersServer},
    write,
};

fn registry(server: &TrailersServer) -> Registry<Origin> {
    let registry = Registry::new();
    registry.register(NAME, "first", server.origin().parse().expect("an origin"));
    registry
}

#[tokio::test]
async fn a_whole_body_comes_out_as_it_is_and_evicts_nothing() {
    for protocol in protocols() {
        let server = serve(protocol, |server| server).await;
        let registry = registry_of(&server).await;
        let api = api(&registry, protocol);
        for method in [Method::GET, Method::POST] {
            let response = send(&api, request(method, "/list", "whole")).await;
            assert_eq!(http_body::Body::size_hint(response.body()).exact(), Some(4), "{protocol:?}");
            let whole = read_out(response.into_body()).await;
            assert!(whole.end.is_ok() && whole.data == "done" && whole.trailers.is_none(), "{whole:?}");
        }
        assert_eq!((registry.look_ups(NAME), server.connections_accepted()), (1, 1), "{protocol:?}");
    }
}

#[tokio::test]
async fn what_has_no_body_is_whole_at_once() {
    for protocol in protocols() {
        let bodiless = |request: &http::Request<_>| {
            let status = request.uri().path().trim_start_matches('/').parse::<u16>().expect("a status");
            Response::builder().status(status).body("done".into()).expect("a response")
        };
        let server = serve(protocol, |server| server.application(bodiless)).await;
        let registry = registry_of(&server).await;
        let api = api(&registry, protocol);
        for (method, path) in
            [(Method::HEAD, "/200"), (Method::HEAD, "/404"), (Method::GET, "/204"), (Method::GET, "/304")]
        {
            let response = send(&api, request(method.clone(), path, path)).await;
            if method == Method::HEAD {
                assert_eq!(response.headers()[header::CONTENT_LENGTH], "4", "{protocol:?}: a body that never comes");
            }
            let whole = read_out(response.into_body()).await;
            assert!(whole.end.is_ok() && whole.data.is_empty(), "{protocol:?}, {method} {path}: {whole:?}");
        }
        assert_eq!(registry.look_ups(NAME), 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn chunks_prove_their_end_and_trailers_come_out() {
    let server = TrailersServer::writing([ANSWER_WITH_TRAILERS]).await;
    let registry = registry(&server);
    let whole = read_out(send(&api(&registry, Protocol::Http1), write("chunked")).await.into_body()).await;
    assert!(whole.end.is_ok() && whole.data == "done", "{whole:?}");
    assert_eq!((&whole.trailers.unwrap()["x-sum"], registry.look_ups(NAME)), (&"7".parse().unwrap(), 1));
}

/// B69: two of three chunks, and an end of the connection in their place.
#[tokio::test]
async fn b69_chunks_without_the_last_one_are_cut_off() {
    let cut = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    let server = TrailersServer::writing([cut]).await;
    let read = read_out(send(&api(&registry(&server), Protocol::Http1), read("read")).await.into_body()).await;
    let failure = read.end.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true), "{failure:?}");
    assert_eq!(read.data, "half");
}

/// hyper gives both answers out as whole.
#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_no_whole_one_unless_that_is_trusted() {
    for answer in ["HTTP/1.1 200 OK\r\n\r\nhalf", "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nhalf"] {
        let server = TrailersServer::writing([answer]).await;
        let registry = registry(&server);
        let closed = read_out(send(&api(&registry, Protocol::Http1), write("closed")).await.into_body()).await;
        let failure = closed.end.unwrap_err();
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), false), "{failure:?}");
        let unproven = failure.find::<Unterminated>().unwrap();
        assert_eq!((unproven.received, unproven.end), (4, UnprovenEnd::ConnectionClosed));
        assert_eq!(closed.data, "half", "what came was handed out");

        let trusting = door(&registry).trust_close_delimited().build_streaming().unwrap();
        let whole = read_out(send(&trusting, write("trusted")).await.into_body()).await;
        assert!(whole.end.is_ok() && whole.data == "half", "{whole:?}");
        assert_eq!(registry.look_ups(NAME), 2, "one for each stack");
    }
}

#[cfg(feature = "http2")]
#[tokio::test]
async fn a_reset_with_no_error_below_the_length_has_ended_early() {
    let act = Act::PartialBodyThenResetStream { sent: 2, code: ErrorCode::NO_ERROR };
    let server = serve(Protocol::Http2, |server| server.script([act])).await;
    let registry = registry_of(&server).await;
    let api = api(&registry, Protocol::Http2);
    let reset = read_out(send(&api, read("read")).await.into_body()).await;
    let failure = reset.end.unwrap_err();
    let early = failure.find::<EndedEarly>().unwrap();
    assert_eq!((early.received, early.promised, failure.delivery()), (2, 4, Some(Delivery::MaybeSent)));
    assert!(reset.data == "do" && !failure.is_stale(), "{failure:?}");

    send(&api, write("next")).await;
    assert_eq!((registry.look_ups(NAME), server.connections_accepted()), (1, 1), "one stream was reset");
}

/// It is a reset of one stream: its connection serves the next call, and the handle stays.
#[cfg(feature = "http2")]
#[tokio::test]
async fn a_reset_with_no_error_without_a_length_is_no_end_and_a_marked_end_is_one() {
    let server = TrailersServer::resetting_first(h2::Reason::NO_ERROR).await;
    let registry = registry(&server);
    let api = api(&registry, Protocol::Http2);
    let reset = read_out(send(&api, write("reset")).await.into_body()).await;
    let failure = reset.end.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), false), "{failure:?}");
    let unproven = failure.find::<Unterminated>().unwrap();
    assert_eq!((unproven.received, unproven.end), (4, UnprovenEnd::Reset));

    let whole = read_out(send(&api, write("whole")).await.into_body()).await;
    assert!(whole.end.is_ok() && whole.data == "done", "{whole:?}");
    assert_eq!((&whole.trailers.unwrap()["x-sum"], registry.look_ups(NAME)), (&"7".parse().unwrap(), 1));
}
