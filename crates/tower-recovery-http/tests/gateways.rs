//! Somebody in the middle: a gateway that speaks for a silent callee, and a network that resets.

mod support;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper_util::{client::legacy::Client as HyperClient, rt::TokioExecutor};
use tower_recovery::Delivery;
use tower_recovery_http::{Intermediary, Origin, RetryAfter};
use tower_recovery_test::{
    Act, CuttingProxy, FaultyServer, Registry,
    cutting::{Direction, Disturbance, Plan},
};

use self::support::{Client, NAME, bounded, call, door, read, registry_of, write};

/// Sends on to this callee, and answers with this status once it is thawed.
async fn gateway(callee: &FaultyServer, status: StatusCode) -> FaultyServer {
    let origin = Arc::new(callee.origin());
    let client = HyperClient::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    FaultyServer::builder()
        .application(move |request| {
            let mut onward = request.clone().map(Full::from);
            *onward.uri_mut() = format!("{origin}{}", request.uri()).parse().expect("a path");
            tokio::spawn(client.request(onward));
            let mut response = Response::new(Bytes::from_static(b"the callee does not answer"));
            *response.status_mut() = status;
            response
        })
        .script(|_: &_| Act::RunThenFreeze)
        .start()
        .await
        .expect("a port is free")
}

/// B23: the callee has executed and hangs, and the gateway says so in its own words. A verdict, whoever speaks it: nothing is repeated.
#[tokio::test]
async fn b23_the_status_of_a_gateway_whose_callee_hangs_reaches_the_caller() {
    for status in [StatusCode::GATEWAY_TIMEOUT, StatusCode::BAD_GATEWAY] {
        for intermediary in [Intermediary::Absent, Intermediary::Present] {
            for request in [write("write"), read("read")] {
                let row = format!("{status}, {intermediary:?}, {}", request.method());
                let callee = FaultyServer::builder().script(|_: &_| Act::RunThenFreeze).start().await.unwrap();
                let gateway = gateway(&callee, status).await;
                let registry = registry_of(&gateway).await;
                let mut api = door(&registry).behind(intermediary).build().unwrap();

                let calling = tokio::spawn(async move { call(&mut api, request).await });
                bounded(callee.wait_until_executed(1)).await;
                gateway.thaw();
                assert_eq!(bounded(calling).await.unwrap().unwrap(), "the callee does not answer", "{row}");
                assert_eq!((gateway.requests_executed(), callee.requests_executed()), (1, 1), "{row}");
                assert_eq!(registry.look_ups(NAME), 1, "{row}");
            }
        }
    }
}

/// B24, first row. *Reset after request*: the server has executed, and the reset comes in the place of its answer's first byte.
#[tokio::test]
async fn b24_a_reset_after_the_request_is_maybe_sent() {
    for client in Client::HTTP1 {
        let (server, proxy, registry) =
            cut(client, Plan::pass().beyond(Direction::ToClient, 0, Disturbance::Reset)).await;
        let api = client.api(&registry);
        let failure = bounded(api.send(write("write"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "{client:?}");
        assert_eq!((server.executed("write"), proxy.connections_accepted()), (1, 1), "{client:?}");
    }
}

/// B24, second row. *Reset before request*: the connection is reset while it is idle, and the request is written to the next one.
#[tokio::test]
async fn b24_a_reset_before_the_request_is_never_sent_and_a_write_is_done_once() {
    // A pool does not tell when it has seen the reset, so this is about the other client.
    let client = Client::HTTP1[1];
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone".len() as u64;
    let reset = Plan::pass().after(Direction::ToClient, answer, Disturbance::Freeze);
    let reset = reset.after(Direction::ToClient, answer, Disturbance::Reset);
    let (server, proxy, registry) = cut(client, reset).await;
    let api = client.api(&registry);
    bounded(api.send(write("first"))).await.unwrap();
    proxy.thaw();
    bounded(api.sees_the_end()).await;

    bounded(api.send(write("second"))).await.unwrap();
    assert_eq!((server.executed("first"), server.executed("second")), (1, 1));
    assert_eq!((server.requests_read(), proxy.connections_accepted(), proxy.cuts()), (2, 2, 1));
}

/// B24, the same row where there is no connection at all: the proxy refuses, then accepts.
#[tokio::test]
async fn b24_a_connection_that_is_refused_before_the_request_is_never_sent() {
    for client in Client::HTTP1 {
        let (server, proxy, registry) = cut(client, Plan::pass()).await;
        proxy.refuse().await;
        let api = client.api(&registry);
        let failure = bounded(api.send(write("write"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3), "{client:?}");
        proxy.accept_again().unwrap();
        bounded(api.send(write("write"))).await.unwrap();
        assert_eq!((server.executed("write"), server.requests_read()), (1, 1), "{client:?}");
    }
}

/// A server behind a proxy that does this to the first connection, and a registry that names the proxy.
async fn cut(client: Client, first: Plan) -> (FaultyServer, CuttingProxy, Registry<Origin>) {
    let server = client.serve(|server| server).await;
    let proxy = CuttingProxy::before(server.address()).script([first]).start().await.expect("a port is free");
    let registry = Registry::new();
    registry.register(NAME, "first", proxy.origin().parse().expect("an origin"));
    (server, proxy, registry)
}

/// A server that is busy says when to come again. That is for the caller to read: no layer acts on it.
#[tokio::test]
async fn a_retry_after_comes_out_and_nothing_is_repeated() {
    for client in Client::all() {
        let busy = |_: &Request<Bytes>| {
            let response =
                Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).header(header::RETRY_AFTER, "120");
            response.body(Bytes::from_static(b"busy")).unwrap()
        };
        let server = client.serve(|server| server.application(busy)).await;
        let registry = registry_of(&server).await;
        let api = client.api(&registry);
        for (number, method) in [(1, Method::POST), (2, Method::GET)] {
            let request = support::request(method, "/read", &number.to_string());
            let response = bounded(api.send(request)).await.unwrap();
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{client:?}");
            let said = RetryAfter::of(response.headers());
            assert_eq!(said, Some(RetryAfter::Delay(Duration::from_secs(120))), "{client:?}");
            assert_eq!(server.requests_executed(), number, "{client:?}");
        }
        assert_eq!((server.connections_accepted(), registry.look_ups(NAME)), (1, 1), "{client:?}");
    }
}
