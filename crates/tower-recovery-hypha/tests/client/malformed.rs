//! Frames and texts that are none.

use tower_recovery_hypha::{Call, CallError, MalformedFrame, Value};

use crate::support::{OWN_ID, PEER, call, connected, error, map, outcome, packed};

fn head(fields: &[(&str, &str)]) -> Value {
    Value::Map(fields.iter().map(|(name, value)| (Value::from(*name), Value::from(*value))).collect())
}

fn garbage() -> Vec<Vec<u8>> {
    let nested = |byte: u8| vec![byte; 100_000];
    let complete = packed(&[head(&[("type", "method"), ("from", PEER), ("method", "services.built-in.ping")])]);
    vec![
        vec![],
        b"garbage".to_vec(),
        vec![0xc1],
        vec![0xc0],
        vec![0x80],
        // Lengths that are not there.
        vec![0xdd, 0xff, 0xff, 0xff, 0xff],
        vec![0xdf, 0xff, 0xff, 0xff, 0xff],
        vec![0xc6, 0xff, 0xff, 0xff, 0xff],
        vec![0xdb, 0x7f, 0xff, 0xff, 0xff, b'x'],
        nested(0x91),
        nested(0x81),
        // Many values in few bytes.
        [vec![0xdd, 0x00, 0x3f, 0x00, 0x00], vec![0x90; 0x3f_0000]].concat(),
        complete[..complete.len() - 1].to_vec(),
        [complete.clone(), vec![0x80, 0x80]].concat(),
        [complete, vec![0x01]].concat(),
        packed(&[head(&[("type", "method"), ("method", "services.built-in.ping")])]),
        packed(&[head(&[("type", "method"), ("from", PEER)])]),
        packed(&[head(&[("type", "method"), ("from", PEER), ("method", "x"), ("ws", "ws")])]),
        packed(&[map([("type", 1.into()), ("from", PEER.into()), ("method", "x".into())])]),
        packed(&[map([("type", "of another kind".into()), ("from", 1.into())])]),
        packed(&[head(&[("type", "method"), ("from", PEER), ("method", "x")]), map([("args", 1.into())])]),
        packed(&[head(&[("type", "method"), ("from", PEER), ("method", "x")]), map([("_enc", map([]))])]),
        packed(&[head(&[("type", "method"), ("from", PEER), ("method", "x")]), map([("promise", "*".into())])]),
    ]
}

#[tokio::test]
async fn garbage_is_counted_and_nothing_else_suffers() {
    let (server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let get = link.any_frame().await;
    let frames = garbage();
    let number = frames.len() as u64;
    for frame in frames {
        let before = client.malformed_frames();
        let shown = frame[..frame.len().min(60)].to_vec();
        link.bytes(frame).await;
        assert!(link.frames_until_now().await.is_empty());
        assert_eq!(client.malformed_frames(), before + 1, "{shown:02x?}");
    }
    assert_eq!(client.malformed_frames(), number);
    link.resolve(&get, 1.into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from(1));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn answers_and_events_that_nobody_waits_for_are_left_out() {
    let (server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let get = link.any_frame().await;
    for method in [
        "nobody.resolve",
        "nobody.reject",
        "nobody.heartbeat",
        "resolve",
        "",
        ".",
        "..",
        "a.b.c",
        &format!("{}.", get.session()),
    ] {
        link.relay(PEER, method, Some("x"), map([("args", Value::Array(vec![]))])).await;
    }
    link.relay(PEER, &format!("{}.other", get.session()), None, map([])).await;
    for event in [
        map([("type", "client_disconnected".into())]),
        map([("type", "client_disconnected".into()), ("data", 1.into())]),
        map([("type", "client_disconnected".into()), ("data", map([("id", 1.into())]))]),
        map([("type", "of another kind".into()), ("from", PEER.into())]),
        map([("type", "of another kind".into()), ("data", map([("id", PEER.into())]))]),
    ] {
        link.bytes(packed(&[event])).await;
    }
    assert!(link.frames_until_now().await.is_empty());
    assert_eq!(client.malformed_frames(), 0);
    link.resolve(&get, 1.into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from(1));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn texts_that_are_none_of_the_servers_are_left_out() {
    let (server, mut link, _client) = connected().await;
    for text in ["", "pardon?", "{}", "[]", "null", r#"{"type": 1}"#, r#"{"type": "reconnection_token"}"#] {
        link.text(text).await;
    }
    link.text(&"[".repeat(100_000)).await;
    assert!(link.frames_until_now().await.is_empty());
    drop(link);
    let said = server.accept().await.authentication().await;
    assert_eq!(said["reconnection_token"], "for-coming-back-is-secret");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_call_alone() {
    let (_server, mut link, client) = connected().await;
    let (bad, good) = (call(&client, Call::new("bad")), call(&client, Call::new("good")));
    let mut frames = [link.any_frame().await, link.any_frame().await];
    frames.sort_by(|one, other| one.method().cmp(other.method()));
    let method = format!("{}.resolve", frames[0].session());
    let answer = |from: &str| {
        let head = head(&[("type", "method"), ("from", from), ("to", OWN_ID), ("method", &method), ("ws", "ws")]);
        let Value::Map(mut fields) = head else { unreachable!() };
        fields.push(("user".into(), map([])));
        [packed(&[Value::Map(fields)]), vec![0x81, 0xa4, b'a', b'r', b'g', b's', 0xdd, 0xff, 0xff, 0xff, 0xff]].concat()
    };
    link.bytes(answer("ws/other")).await;
    link.frames_until_now().await;
    assert!(!bad.is_finished(), "of somebody else");
    link.bytes(answer(PEER)).await;
    let malformed = error(bad).await;
    assert!(
        matches!(malformed, CallError::MalformedAnswer(MalformedFrame::Truncated { .. })) && !malformed.is_send_side(),
        "{malformed:?}"
    );
    link.resolve(&frames[1], 1.into()).await;
    assert_eq!(outcome(good).await.unwrap(), Value::from(1));
    assert_eq!(client.malformed_frames(), 2);
}

#[tokio::test]
async fn a_frame_that_is_longer_than_what_is_taken_costs_no_connection() {
    let (server, mut link, client) = connected().await;
    let answered = call(&client, Call::new("get"));
    let get = link.any_frame().await;
    // As long as what the server takes from any of its clients, and passes on.
    link.relay("ws2/stranger", "services.built-in.ping", None, map([("args", Value::Binary(vec![0; 15 << 20]))])).await;
    assert!(link.frames_until_now().await.is_empty());
    assert_eq!((client.malformed_frames(), server.accepted()), (1, 1));
    link.resolve(&get, 1.into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from(1));
}
