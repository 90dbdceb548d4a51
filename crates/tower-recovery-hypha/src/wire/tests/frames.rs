//! Frames as hypha-rpc writes them.

use std::time::Duration;

use rmpv::Value;

use super::{call, golden, map, packed, read};
use crate::wire::{
    Body, Callback, Head, Incoming, IncomingCall, IncomingEvent, Limits, MalformedFrame, Promise, Relayed,
    decode_assembled, encode_body, encode_head,
};

fn callback(method: &str) -> Callback {
    Callback { target: "ws-a/caller".to_owned(), method: method.to_owned() }
}

fn promise(session: &str) -> Promise {
    Promise {
        resolve: callback(&format!("{session}.resolve")),
        reject: callback(&format!("{session}.reject")),
        heartbeat: Some(callback(&format!("{session}.heartbeat"))),
        interval: Some(Duration::from_secs(15)),
    }
}

fn kwargs() -> Vec<(Value, Value)> {
    vec![("overwrite".into(), true.into())]
}

#[test]
fn a_frame_of_ours_is_the_one_that_python_sends() {
    let head = Head {
        from: "ws-a/caller",
        to: "ws-b/callee",
        method: "services.store.get",
        session: Some("session0"),
        parent: None,
    };
    let body = Body { args: &[1.into(), "two".into()], kwargs: &kwargs(), promise: Some(Duration::from_secs(15)) };
    assert_eq!([encode_head(&head), encode_body(&body)].concat(), golden!("sent"));
}

#[test]
fn a_frame_without_arguments_and_promise_is_a_head() {
    let head =
        Head { from: "ws-a/caller", to: "ws-b/callee", method: "services.store.get", session: None, parent: None };
    assert_eq!([encode_head(&head), encode_body(&Body::default())].concat(), golden!("headless"));
}

#[test]
fn a_call_is_read() {
    let mut call = call(golden!("call"));
    let relayed = call.relayed.take().unwrap();
    assert_eq!(relayed.workspace, "ws-a");
    assert_eq!(relayed.user["id"].as_str(), Some("root"));
    let expected = IncomingCall {
        from: "ws-a/caller".to_owned(),
        method: "services.store.get".to_owned(),
        session: Some("session1".to_owned()),
        relayed: None,
        args: vec![1.into(), "two".into()],
        kwargs: kwargs(),
        promise: Some(promise("session1")),
    };
    assert_eq!(call, expected);
}

#[test]
fn a_promise_in_full_is_the_same_as_the_short_one() {
    let call = call(golden!("full_promise"));
    assert_eq!(call.promise, Some(promise("session2")));
    assert_eq!(call.args, [Value::Binary(vec![0, 1])]);
}

#[test]
fn a_call_for_which_nobody_waits_is_read() {
    let call = call(golden!("no_promise"));
    assert_eq!((call.session, call.promise), (None, None));
    assert!(call.args.is_empty() && call.kwargs.is_empty());
}

#[test]
fn the_servers_own_refusal_is_told_from_what_it_relays() {
    let refusal = call(golden!("server_refusal"));
    assert_eq!((refusal.method.as_str(), &refusal.relayed), ("session0.reject", &None));
    assert!(call(golden!("error_key")).relayed.is_some());
}

#[test]
fn another_type_of_frame_is_an_event() {
    let data = map([("id", "ws-b/callee".into())]);
    let event = IncomingEvent { kind: "client_disconnected".to_owned(), from: None, data };
    assert_eq!(read(golden!("event")), Ok(Incoming::Event(event)));

    let bare = packed([map([("type", "pong".into()), ("from", "ws/a".into())])]);
    let event = IncomingEvent { kind: "pong".to_owned(), from: Some("ws/a".to_owned()), data: Value::Nil };
    assert_eq!(read(&bare), Ok(Incoming::Event(event)));
}

#[test]
fn a_callback_without_a_workspace_is_beside_the_caller() {
    let method = |target: &str| {
        map([("_rtype", "method".into()), ("_rtarget", target.into()), ("_rmethod", "s.resolve".into())])
    };
    let promise = map([("resolve", method("caller")), ("reject", method("ws-a/caller"))]);
    let frame = packed([
        map([("type", "method".into()), ("from", "ws-a/caller".into()), ("method", "m".into())]),
        map([("promise", promise)]),
    ]);
    let promise = call(&frame).promise.unwrap();
    assert_eq!(promise.resolve.target, "ws-a/caller");
    assert_eq!(promise.reject.target, "ws-a/caller");
    assert_eq!((promise.heartbeat, promise.interval), (None, None));
}

#[test]
fn a_period_is_never_nothing_and_an_endless_one_is_none() {
    let interval = |seconds: Value| {
        let head =
            map([("type", "method".into()), ("from", "ws/a".into()), ("method", "m".into()), ("session", "s".into())]);
        call(&packed([head, map([("promise", "*".into()), ("t", seconds)])])).promise.unwrap().interval
    };
    assert_eq!(interval(5.into()), Some(Duration::from_secs(5)));
    assert_eq!(interval(Value::F32(0.5)), Some(Duration::from_millis(500)));
    assert_eq!(interval(1e-12.into()), Some(Duration::from_nanos(1)));
    assert_eq!(interval(f64::INFINITY.into()), None);
    assert_eq!(interval(Value::Nil), None);
}

#[test]
fn the_body_cannot_speak_for_the_server() {
    let head = map([
        ("type", "method".into()),
        ("from", "ws/honest".into()),
        ("method", "m".into()),
        ("ws", "ws".into()),
        ("user", map([("id", "honest".into())])),
    ]);
    let lies = map([
        ("type", "event".into()),
        ("from", "ws/other".into()),
        ("method", "other".into()),
        ("session", "other".into()),
        ("ws", "other".into()),
        ("user", map([("id", "other".into())])),
    ]);
    assert_eq!(call(&packed([head.clone(), lies])), call(&packed([head])));
}

#[test]
fn of_a_field_that_comes_twice_the_last_counts() {
    let head = map([
        ("type", "method".into()),
        ("from", "ws/first".into()),
        ("from", "ws/last".into()),
        ("method", "m".into()),
    ]);
    assert_eq!(call(&packed([head])).from, "ws/last");
}

#[test]
fn an_assembled_message_is_of_the_one_who_had_it_processed() {
    let relayed = Relayed { workspace: "ws-x".to_owned(), user: Value::from("x") };
    let decoded = decode_assembled(golden!("call"), "ws-x/real", Some(relayed.clone()), &Limits::default());
    let Ok(Incoming::Call(read)) = decoded else {
        panic!("no call: {decoded:?}");
    };
    assert_eq!((read.from.as_str(), read.relayed), ("ws-x/real", Some(relayed)));

    // Whoever has it processed is answered, and nobody else in their name.
    let foreign = decode_assembled(golden!("full_promise"), "ws-x/real", None, &Limits::default());
    assert!(matches!(foreign, Err(MalformedFrame::WrongValue { field: "resolve", .. })), "{foreign:?}");

    let decoded = decode_assembled(golden!("call"), "ws-x/real", None, &Limits::default());
    let Ok(Incoming::Call(read)) = decoded else {
        panic!("no call: {decoded:?}");
    };
    assert_eq!(read.relayed, None);
    assert_eq!(read.promise.unwrap().resolve.target, "ws-x/real");
}
