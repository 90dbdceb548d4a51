//! What the acts of HTTP/2 are to a client that people use: the one of the `h2` crate, on which hyper stands.
#![cfg(feature = "http2")]

mod support;

use bytes::Bytes;
use h2::{Reason, client::SendRequest};
use support::{
    echoing,
    http2::{connect, start},
    within,
};
use tokio::task::JoinSet;
use tower_recovery_test::{
    Gate,
    faulty::{Act, ErrorCode, GoAway, LastStream, RequestContext, Script},
};

/// Sends a request with a body, and gives the body of the answer.
async fn put(client: SendRequest<Bytes>, id: String, sent: Bytes) -> Result<Vec<u8>, h2::Error> {
    let mut client = client.ready().await?;
    let request = http::Request::put("http://orders/orders").header("x-request-id", id).body(());
    let (response, mut body) = client.send_request(request.expect("the request is valid"), false)?;
    body.send_data(sent, true)?;
    let mut answer = response.await?.into_body();
    let mut received = Vec::new();
    while let Some(data) = answer.data().await {
        let data = data?;
        answer.flow_control().release_capacity(data.len())?;
        received.extend_from_slice(&data);
    }
    Ok(received)
}

/// What the client sees of one request with this script, and how often it was executed.
async fn outcome(script: impl Script) -> (Result<Vec<u8>, h2::Error>, usize) {
    within(async {
        let server = start(echoing(script)).await;
        let (client, _driving) = connect(&server).await;
        let seen = put(client, "7".to_owned(), Bytes::from_static(b"book")).await;
        (seen, server.executed("7"))
    })
    .await
}

#[tokio::test]
async fn a_refused_stream_is_a_reset_by_the_peer_with_that_reason() {
    let (seen, executed) = outcome([Act::RefuseStream]).await;
    let error = seen.unwrap_err();
    assert!(error.is_reset() && error.is_remote());
    assert_eq!((error.reason(), executed), (Some(Reason::REFUSED_STREAM), 0));
}

#[tokio::test]
async fn a_reset_of_the_stream_has_the_code_that_was_chosen() {
    let code = ErrorCode::INTERNAL_ERROR;
    for (act, expected) in [
        (Act::ReadThenResetStream { code }, 0),
        (Act::RunThenResetStream { code }, 1),
        (Act::PartialBodyThenResetStream { sent: 2, code }, 1),
    ] {
        let (seen, executed) = outcome([act]).await;
        let error = seen.unwrap_err();
        assert!(error.is_reset() && error.is_remote(), "{act:?}: {error}");
        assert_eq!((error.reason(), executed), (Some(Reason::INTERNAL_ERROR), expected), "{act:?}");
    }
}

#[tokio::test]
async fn the_head_promises_the_length_of_the_body_or_one_byte_more_than_a_part_of_it() {
    within(async {
        let cut = |sent| Act::PartialBodyThenResetStream { sent, code: ErrorCode::NO_ERROR };
        let server = start(echoing([Act::Answer, cut(2), cut(4), cut(9)])).await;
        let (client, _driving) = connect(&server).await;
        for expected in ["4", "4", "5", "10"] {
            let mut client = client.clone().ready().await.unwrap();
            let request = http::Request::put("http://orders/orders").body(()).unwrap();
            let (response, mut body) = client.send_request(request, false).unwrap();
            body.send_data(Bytes::from_static(b"book"), true).unwrap();
            assert_eq!(response.await.unwrap().headers()["content-length"], expected);
        }
    })
    .await;
}

#[tokio::test]
async fn a_go_away_below_the_request_is_told_with_its_reason() {
    let code = ErrorCode::ENHANCE_YOUR_CALM;
    let (seen, executed) = outcome([Act::ReadThenGoAway(GoAway::new(LastStream::BelowThis).code(code))]).await;
    let error = seen.unwrap_err();
    assert!(error.is_go_away() && error.is_remote(), "{error}");
    assert_eq!((error.reason(), executed), (Some(Reason::ENHANCE_YOUR_CALM), 0));
}

#[tokio::test]
async fn a_go_away_that_stays_open_answers_and_the_client_ends_the_connection() {
    within(async {
        let notice = GoAway::new(LastStream::This).stay_open();
        let server = start(echoing([Act::RunThenGoAway(notice)])).await;
        let (client, mut driving) = connect(&server).await;
        let seen = put(client, "7".to_owned(), Bytes::from_static(b"book")).await;
        assert_eq!(seen.unwrap(), b"book");
        driving.join_next().await.unwrap().unwrap().unwrap();
        server.wait_until_open(0).await;
    })
    .await;
}

#[tokio::test]
async fn an_early_answer_to_an_upload_that_is_not_read_reaches_the_client() {
    within(async {
        let status = http::StatusCode::PAYLOAD_TOO_LARGE;
        let unread = tower_recovery_test::faulty::Until::Thaw;
        let server = start(echoing([Act::RejectAtHead { status, unread }])).await;
        let (client, _driving) = connect(&server).await;
        let mut client = client.ready().await.unwrap();
        let request = http::Request::put("http://orders/orders").body(()).unwrap();
        let (response, mut body) = client.send_request(request, false).unwrap();
        // Far more than the window, so that it cannot have been sent.
        body.send_data(Bytes::from(vec![b'x'; 10_000_000]), false).unwrap();
        assert_eq!(response.await.unwrap().status(), status);
        server.thaw();
        let reason = std::future::poll_fn(|context| body.poll_reset(context)).await.unwrap();
        assert_eq!((reason, server.requests_executed()), (Reason::NO_ERROR, 0));
    })
    .await;
}

#[tokio::test]
async fn streams_above_the_limit_are_refused_and_the_others_are_answered() {
    within(async {
        let gate = Gate::new();
        let server = start(echoing([]).max_concurrent_streams(2).settings_behind(&gate)).await;
        server.freeze();
        let (client, _driving) = connect(&server).await;
        let mut sending = JoinSet::new();
        for number in 0..6 {
            sending.spawn(put(client.clone(), number.to_string(), Bytes::from_static(b"book")));
        }
        server.wait_until_held(2).await;
        server.wait_until_refused(4).await;
        gate.open();
        server.thaw();

        let (answered, refused): (Vec<_>, Vec<_>) = sending.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!((answered.len(), refused.len(), server.requests_executed()), (2, 4, 2));
        for refused in refused {
            let error = refused.unwrap_err();
            assert_eq!((error.is_remote(), error.reason()), (true, Some(Reason::REFUSED_STREAM)));
        }
        // From here on, the client keeps to what it was told.
        let mut sending = JoinSet::new();
        for number in 6..20 {
            sending.spawn(put(client.clone(), number.to_string(), Bytes::from_static(b"book")));
        }
        assert!(sending.join_all().await.iter().all(Result::is_ok));
        assert_eq!((server.streams_refused(), server.requests_executed()), (4, 16));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_requests_at_once_with_bodies_above_the_window_are_each_executed_once() {
    within(async {
        let server = start(echoing(|request: &RequestContext| match request.number % 10 {
            0 => Act::RefuseStream,
            1 => Act::RunThenResetStream { code: ErrorCode::CANCEL },
            _ => Act::Answer,
        }))
        .await;
        let mut sending = JoinSet::new();
        let mut driving = Vec::new();
        for connection in 0..10 {
            let (client, driven) = connect(&server).await;
            driving.push(driven);
            for request in 0..100 {
                let body = Bytes::from(vec![b'x'; if request % 20 == 0 { 100_000 } else { 10 }]);
                sending.spawn(put(client.clone(), format!("{connection}-{request}"), body));
            }
        }
        let answered = sending.join_all().await.iter().filter(|seen| seen.is_ok()).count();
        assert_eq!((answered, server.streams_refused(), server.requests_executed()), (800, 100, 900));
        assert_eq!(server.connections_accepted(), 10);
        assert!(server.executed_twice().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_held_on_many_streams_are_executed_once_each_after_their_clients_have_gone() {
    within(async {
        let server = start(echoing([])).await;
        server.freeze();
        let mut sending = JoinSet::new();
        let mut driving = Vec::new();
        for connection in 0..20 {
            let (client, driven) = connect(&server).await;
            driving.push(driven);
            for request in 0..50 {
                sending.spawn(put(client.clone(), format!("{connection}-{request}"), Bytes::from_static(b"book")));
            }
        }
        server.wait_until_held(1_000).await;
        drop(driving);
        sending.shutdown().await;
        server.wait_until_open(0).await;
        assert_eq!(server.requests_executed(), 0);
        server.thaw();
        server.wait_until_executed(1_000).await;
        assert_eq!(server.requests_executed(), 1_000);
        assert!(server.executed_twice().is_empty());
    })
    .await;
}
