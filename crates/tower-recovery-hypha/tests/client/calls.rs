//! One call, and all that can become of it.

use std::time::Duration;

use tower_recovery_hypha::{Call, CallError, Value};

use crate::support::{
    OWN_ID, PEER, Server, builder, call, call_of, connect, connected, error, map, outcome, packed, reconnected,
};

#[tokio::test]
async fn a_call_is_written_as_hypha_rpc_writes_it() {
    let (_server, mut link, client) = connected().await;
    let bytes = Value::Binary(vec![0, 1, 2]);
    let put = Call::new("put").arg(1).arg(bytes.clone()).keyword("stage", true).keyword("comment", "a");
    let answered = call(&client, put);
    let frame = link.any_frame().await;
    let session = frame.session().to_owned();
    assert_eq!(session.len(), 32);
    assert_eq!(
        frame.head,
        map([
            ("type", "method".into()),
            ("from", OWN_ID.into()),
            ("to", PEER.into()),
            ("method", "services.store.put".into()),
            ("session", session.into()),
        ])
    );
    let keywords = map([("stage", true.into()), ("comment", "a".into())]);
    assert_eq!(
        frame.body,
        map([
            ("args", Value::Array(vec![1.into(), bytes, keywords])),
            ("with_kwargs", true.into()),
            ("promise", "*".into()),
            ("t", 30.0.into()),
        ])
    );
    link.resolve(&frame, "done".into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from("done"));
}

#[tokio::test]
async fn a_call_without_arguments_has_none_on_the_wire() {
    let (_server, mut link, client) = connected().await;
    let _answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    assert_eq!(frame.body, map([("promise", "*".into()), ("t", 30.0.into())]));
}

#[tokio::test]
async fn a_call_of_the_manager_goes_to_the_manager_of_the_server_that_is_there() {
    let (server, mut link, client) = connected().await;
    let answered = tokio::spawn(client.manager(Call::new("list_services")));
    let frame = link.frame("services.default.list_services").await;
    assert_eq!(frame.to(), "*/manager-1");
    link.resolve(&frame, Value::Array(vec![])).await;
    outcome(answered).await.unwrap();
    drop(link);

    let mut link = server.accept().await;
    link.authentication().await;
    link.connection_info(serde_json::json!({"manager_id": "manager-2"})).await;
    link.registered().await;
    let _answered = tokio::spawn(client.manager(Call::new("list_services")));
    assert_eq!(link.frame("services.default.list_services").await.to(), "*/manager-2");
}

#[tokio::test]
async fn only_whom_it_was_sent_to_answers_a_call() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    for other in ["ws/other", "ws2/peer", "peer", "ws/peer2", "*/manager-1", OWN_ID] {
        link.resolve_as(other, &frame, "forged".into()).await;
        let body = map([("args", Value::Array(vec!["forged".into()]))]);
        link.relay(other, &format!("{}.reject", frame.session()), None, body).await;
    }
    link.frames_until_now().await;
    assert!(!answered.is_finished());
    link.resolve(&frame, "true".into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from("true"));
}

#[tokio::test]
async fn nobody_else_keeps_a_call_alive() {
    let server = Server::start().await;
    let (mut link, client) = connect(&server, builder(&server).answer_timeout(Duration::from_millis(200))).await;
    let answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    let forger = async {
        loop {
            let body = map([]);
            link.relay("ws/other", &format!("{}.heartbeat", frame.session()), None, body).await;
            tokio::task::yield_now().await;
        }
    };
    let error = tokio::select! {
        error = error(answered) => error,
        () = forger => unreachable!(),
    };
    assert!(matches!(error, CallError::TimedOut { .. }), "{error:?}");
}

#[tokio::test]
async fn what_the_method_raises_is_told_with_its_kind() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    link.reject(&frame, "KeyError", "'x'").await;
    let error = error(answered).await;
    let CallError::Remote(error) = error else { panic!("{error:?}") };
    assert_eq!((error.kind(), error.message()), ("KeyError", "'x'"));
}

#[tokio::test]
async fn that_the_callee_is_not_connected_is_believed_the_routing_alone_and_for_this_callee_alone() {
    type Is = fn(&CallError) -> bool;
    let is_routing: Is = |error| matches!(error, CallError::Routing { .. });
    let (_server, mut link, client) = connected().await;
    let cases: [(&str, Is); 6] = [
        ("Target peer ws/peer is not connected", |error| {
            matches!(error, CallError::PeerNotConnected { peer } if &**peer == PEER) && error.is_send_side()
        }),
        ("Target peer ws/other is not connected", is_routing),
        ("Target peer ws/peer is not connected.", is_routing),
        ("Error: Target peer ws/peer is not connected", is_routing),
        ("Target peer ws/peer2 is not connected", is_routing),
        ("", is_routing),
    ];
    for (words, is_expected) in cases {
        let answered = call(&client, Call::new("get"));
        let frame = link.any_frame().await;
        link.turn_down(&frame, words).await;
        let error = error(answered).await;
        assert!(is_expected(&error), "{words}: {error:?}");
        assert_eq!(error.is_send_side(), !is_routing(&error));
    }
    // The callee's own words, whatever they are.
    let answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    link.reject(&frame, "Exception", "Target peer ws/peer is not connected").await;
    let error = error(answered).await;
    assert!(matches!(error, CallError::Remote(_)) && !error.is_send_side(), "{error:?}");
}

#[tokio::test]
async fn a_method_that_is_not_there_is_told_from_an_error_that_says_so_of_another() {
    let (_server, mut link, client) = connected().await;
    for (words, is_missing) in [
        ("Method not found: ws/rust-client:services.store.get at peer", true),
        ("Method not found: ws/rust-client:services.store.put at peer", false),
        ("Method not found: ws/rust-client:services.store.get at other", false),
        ("KeyError: Method not found: ws/rust-client:services.store.get at peer", false),
    ] {
        let answered = call(&client, Call::new("get"));
        let frame = link.any_frame().await;
        link.reject(&frame, "Exception", words).await;
        let error = error(answered).await;
        assert_eq!(matches!(error, CallError::MethodNotFound { .. }), is_missing, "{words}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_has_closed_its_end_is_left_and_come_back_to() {
    let (server, mut link, client) = connected().await;
    let (turned_down, waiting) = (call(&client, Call::new("get")), call(&client, Call::new("put")));
    let mut frames = [link.any_frame().await, link.any_frame().await];
    frames.sort_by(|one, other| one.method().cmp(other.method()));
    link.turn_down(&frames[0], &format!("Connection has already been closed (client: {OWN_ID})")).await;
    let own = error(turned_down).await;
    assert!(matches!(own, CallError::OwnConnectionClosed { .. }) && own.is_send_side(), "{own:?}");
    let lost = error(waiting).await;
    assert!(matches!(lost, CallError::ConnectionLost { .. }) && !lost.is_send_side(), "{lost:?}");
    reconnected(&server, &client).await;
    link.ended().await;
}

#[tokio::test]
async fn that_another_client_was_forgotten_is_nothing_to_this_one() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    link.turn_down(&frame, "Connection has already been closed (client: ws/other)").await;
    assert!(matches!(error(answered).await, CallError::Routing { .. }));
    link.frames_until_now().await;
    assert!(client.status().borrow().is_connected());
}

#[tokio::test]
async fn heartbeats_give_a_call_more_time() {
    const LIMIT: Duration = Duration::from_millis(300);
    let server = Server::start().await;
    let (mut link, client) = connect(&server, builder(&server).answer_timeout(LIMIT)).await;
    let mut answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    assert_eq!(*frame.body("t"), Value::from(0.15), "two in the time that it waits");
    let began = tokio::time::Instant::now();
    // The pace of the callee: this is what is measured, nothing is waited for.
    let mut beats = tokio::time::interval(LIMIT / 10);
    while began.elapsed() < 3 * LIMIT {
        tokio::select! {
            _ = beats.tick() => link.heartbeat(&frame).await,
            ended = &mut answered => panic!("{ended:?} after {:?}", began.elapsed()),
        }
    }
    link.resolve(&frame, 1.into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from(1));
}

#[tokio::test]
async fn silence_ends_a_call_as_maybe_sent_and_a_late_answer_finds_nobody() {
    const LIMIT: Duration = Duration::from_millis(100);
    let server = Server::start().await;
    let (mut link, client) = connect(&server, builder(&server).answer_timeout(LIMIT)).await;
    let answered = call(&client, Call::new("get"));
    let frame = link.any_frame().await;
    let silent = error(answered).await;
    assert!(matches!(silent, CallError::TimedOut { silent: LIMIT }) && !silent.is_send_side(), "{silent:?}");
    link.resolve(&frame, "late".into()).await;
    link.frames_until_now().await;
    assert_eq!(client.malformed_frames(), 0);
}

#[tokio::test]
async fn calls_to_a_client_that_leaves_end_at_once_and_others_go_on() {
    let (_server, mut link, client) = connected().await;
    let (to_peer, to_other) = (call(&client, Call::new("get")), call_of(&client, "ws/other", Call::new("get")));
    let frames = [link.any_frame().await, link.any_frame().await];
    link.client_disconnected("ws/pee").await;
    link.client_disconnected(PEER).await;
    let left = error(to_peer).await;
    assert!(matches!(&left, CallError::PeerDisconnected { peer } if &**peer == PEER), "{left:?}");
    assert!(!left.is_send_side());
    let other = frames.iter().find(|frame| frame.to() == "ws/other").unwrap();
    link.resolve(other, 1.into()).await;
    assert_eq!(outcome(to_other).await.unwrap(), Value::from(1));
}

#[tokio::test]
async fn another_client_cannot_say_that_one_has_left() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let get = link.any_frame().await;
    // The server relays any type of frame, and writes who it is from.
    let head = map([
        ("type", "client_disconnected".into()),
        ("to", OWN_ID.into()),
        ("data", map([("id", PEER.into()), ("workspace", "ws".into())])),
        ("ws", "ws2".into()),
        ("from", "ws2/forger".into()),
        ("user", map([])),
    ]);
    link.bytes(packed(&[head])).await;
    assert!(link.frames_until_now().await.is_empty());
    link.resolve(&get, 1.into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from(1));
}
