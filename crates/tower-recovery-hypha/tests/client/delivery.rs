//! Whether a request is sent, and how often.

use std::{task::Poll, time::Duration};

use tower_recovery_hypha::{Call, CallError, Value};

use crate::support::{Server, builder, call, connect, connected, error, outcome, reconnected, soon, until_lost};

#[tokio::test]
async fn a_call_that_found_no_connection_was_never_sent_and_never_will_be() {
    let server = Server::start().await;
    let limit = Duration::from_millis(100);
    let (link, client) = connect(&server, builder(&server).connection_wait(limit)).await;
    drop(link);
    until_lost(&client).await;
    // The server lets the client in only after the call was given up.
    let waited = error(call(&client, Call::new("put"))).await;
    assert!(matches!(waited, CallError::NotConnected { .. }) && waited.is_send_side(), "{waited:?}");
    let mut link = reconnected(&server, &client).await;
    assert!(link.frames_until_now().await.is_empty());
}

#[tokio::test]
async fn a_call_that_is_dropped_before_it_is_sent_is_never_sent() {
    let (server, link, client) = connected().await;
    drop(link);
    until_lost(&client).await;
    let mut dropped = tokio_test::task::spawn(client.manager(Call::new("dropped")));
    assert!(dropped.poll().is_pending());
    drop(dropped);
    let kept = call(&client, Call::new("kept"));
    tokio::task::yield_now().await;
    let mut link = server.accept().await;
    link.admit().await;
    let mut methods = Vec::new();
    while methods.last().map(String::as_str) != Some("services.store.kept") {
        let frame = link.any_frame().await;
        methods.push(frame.method().to_owned());
        link.resolve(&frame, Value::Nil).await;
    }
    assert!(!methods.contains(&"services.default.dropped".to_owned()), "{methods:?}");
    outcome(kept).await.unwrap();
}

#[tokio::test]
async fn the_answer_to_a_call_that_was_dropped_finds_nobody() {
    let (_server, mut link, client) = connected().await;
    let dropped = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    dropped.abort();
    assert!(soon(dropped).await.unwrap_err().is_cancelled());
    link.resolve(&frame, "late".into()).await;
    let next = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    link.resolve(&frame, "in time".into()).await;
    assert_eq!(outcome(next).await.unwrap(), Value::from("in time"));
}

#[tokio::test]
async fn a_call_that_the_server_has_is_maybe_sent_when_the_connection_is_cut() {
    let (server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("put"));
    link.frame("services.store.put").await;
    drop(link);
    let lost = error(answered).await;
    assert!(matches!(lost, CallError::ConnectionLost { .. }) && !lost.is_send_side(), "{lost:?}");
    let mut link = reconnected(&server, &client).await;
    assert!(link.frames_until_now().await.is_empty(), "it is not sent again");
}

/// More than what the sockets hold, and there before the client comes to write.
#[tokio::test]
async fn a_call_that_the_server_has_is_maybe_sent_while_others_are_still_being_written() {
    let (_server, mut link, client) = connected().await;
    let put = |number| Call::new("put").arg(number).arg(Value::Binary(vec![0; 250 * 1024]));
    let mut calls: Vec<_> = (0..100_usize).map(|number| call(&client, put(number))).collect();
    let first = link.frame("services.store.put").await.arg(0).as_u64().unwrap();
    drop(link);
    let lost = error(calls.swap_remove(first as usize)).await;
    assert!(matches!(lost, CallError::ConnectionLost { .. }) && !lost.is_send_side(), "{lost:?}");
}

#[tokio::test]
async fn a_call_that_waits_for_a_connection_is_sent_once_over_the_next() {
    let (server, link, client) = connected().await;
    drop(link);
    until_lost(&client).await;
    let waits = call(&client, Call::new("put"));
    tokio::task::yield_now().await;
    let mut link = server.accept().await;
    link.admit().await;
    let (mut puts, mut subscribed) = (Vec::new(), false);
    while puts.is_empty() || !subscribed {
        let frame = link.any_frame().await;
        subscribed |= frame.method() == "services.default.subscribe";
        match frame.method() {
            "services.store.put" => puts.push(frame),
            _ => link.resolve(&frame, Value::Nil).await,
        }
    }
    assert!(link.frames_until_now().await.is_empty(), "only once");
    link.resolve(&puts[0], 1.into()).await;
    assert_eq!(outcome(waits).await.unwrap(), Value::from(1));
    drop(link);
    let mut link = reconnected(&server, &client).await;
    assert!(link.frames_until_now().await.is_empty());
}

#[tokio::test]
async fn closing_ends_calls_by_how_far_they_are() {
    let (_server, mut link, client) = connected().await;
    let sent = call(&client, Call::new("put"));
    link.frame("services.store.put").await;
    soon(async { tokio::join!(link.ended(), client.close()) }).await;
    assert!(matches!(error(sent).await, CallError::ConnectionLost { .. }));
    let closed = error(call(&client, Call::new("put"))).await;
    assert!(matches!(closed, CallError::Closed) && closed.is_send_side(), "{closed:?}");
}

#[tokio::test]
async fn closing_ends_calls_that_wait_for_a_connection_as_never_sent() {
    let (_server, link, client) = connected().await;
    drop(link);
    until_lost(&client).await;
    let mut waits = tokio_test::task::spawn(client.manager(Call::new("list_services")));
    assert!(waits.poll().is_pending());
    soon(client.close()).await;
    match waits.poll() {
        Poll::Ready(Err(error)) => assert!(matches!(error, CallError::Closed) && error.is_send_side(), "{error:?}"),
        other => panic!("{other:?}"),
    }
}
