//! What others call at the client.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;
use tower_recovery_hypha::{HyphaClient, LocalService, RemoteError, Value, Visibility};

use crate::support::{Frame, Link, OWN_ID, PEER, Server, connected, field, map, soon};

/// Offers it, and answers its registration.
pub(crate) async fn offer(link: &mut Link, client: &HyphaClient, service: LocalService) -> Value {
    let registers = async {
        let register = link.frame("services.default.register_service").await;
        link.resolve(&register, Value::Nil).await;
        register.arg(0).clone()
    };
    let (registered, offered) = soon(async { tokio::join!(registers, client.offer(service)) }).await;
    offered.unwrap();
    registered
}

/// A service whose method `wait` begins, and ends when the test gives a permit.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) begun: Arc<AtomicUsize>,
    pub(crate) ends: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { begun: Arc::default(), ends: Arc::new(Semaphore::new(0)) }
    }

    pub(crate) fn service(&self) -> LocalService {
        let gate = self.clone();
        LocalService::new("worker")
            .unwrap()
            .method("wait", move |call| {
                let gate = gate.clone();
                async move {
                    gate.begun.fetch_add(1, Ordering::Relaxed);
                    gate.ends.acquire().await.map_err(|_| RemoteError::new("X", ""))?.forget();
                    Ok(call.arguments.first().cloned().unwrap_or(Value::Nil))
                }
            })
            .method("who", |call| async move { Ok(Value::from(&*call.caller)) })
            .method("panic", |_| async { panic!("on purpose") })
            .method("fail", |_| async { Err(RemoteError::new("KeyError", "'x'")) })
    }
}

pub(crate) async fn serving() -> (Server, Link, HyphaClient, Gate) {
    let (server, mut link, client) = connected().await;
    let gate = Gate::new();
    offer(&mut link, &client, gate.service()).await;
    (server, link, client, gate)
}

/// Kind and message of a rejection.
pub(crate) fn raised(answer: &Frame) -> (String, String) {
    assert!(answer.method().ends_with(".reject"), "{answer:?}");
    let text = |name| field(answer.arg(0), name).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert_eq!(text("_rtype"), "error");
    (text("_rtrace"), text("_rvalue"))
}

#[tokio::test]
async fn the_managers_ping_is_answered() {
    let (_server, mut link, _client) = connected().await;
    let manager = link.manager().to_owned();
    let answer = link.ask(&manager, "services.built-in.ping", vec!["ping".into()]).await;
    assert_eq!((answer.method(), answer.args()), ("asked.resolve", ["pong".into()].as_slice()));
}

#[tokio::test]
async fn the_service_that_every_client_must_have_is_registered_first() {
    let (_server, link, _client) = connected().await;
    let built_in = &link.registrations[0];
    assert_eq!(field(built_in, "id"), Some(&format!("{OWN_ID}:built-in").into()));
    assert_eq!(field(built_in, "type"), Some(&"built-in".into()));
    let config = field(built_in, "config").unwrap();
    assert_eq!(field(config, "visibility"), Some(&"public".into()));
    assert_eq!(field(config, "workspace"), Some(&"ws".into()));
}

#[tokio::test]
async fn a_service_is_told_as_hypha_rpc_builds_proxies_from_it() {
    let (_server, mut link, _client, _) = serving().await;
    let answer = link.ask_as_peer("services.built-in.get_service", vec!["worker".into()]).await;
    assert_eq!(answer.method(), "asked.resolve");
    let service = answer.arg(0);
    assert_eq!(field(service, "id"), Some(&"worker".into()));
    let method = field(service, "wait").unwrap();
    for (name, value) in [
        ("_rtype", "method"),
        ("_rserver", "http://hypha.test"),
        ("_rtarget", OWN_ID),
        ("_rmethod", "services.worker.wait"),
        ("_rpromise", "*"),
    ] {
        assert_eq!(field(method, name), Some(&value.into()), "{name}");
    }
    let answer = link.ask_as_peer("services.built-in.get_service", vec!["built-in".into()]).await;
    let cache = field(answer.arg(0), "message_cache").unwrap();
    for step in ["create", "append", "set", "process", "remove"] {
        let path = field(field(cache, step).unwrap(), "_rmethod").unwrap();
        assert_eq!(path, &Value::from(format!("services.built-in.message_cache.{step}")));
    }
    assert!(field(answer.arg(0), "ping").is_some());
}

#[tokio::test]
async fn a_service_or_method_that_is_not_there_is_said_in_hypha_rpcs_words() {
    let (_server, mut link, _client, _) = serving().await;
    let answer = link.ask_as_peer("services.built-in.get_service", vec!["other".into()]).await;
    assert_eq!(raised(&answer).1, "'Service not found: other'");
    for method in
        ["services.worker.other", "services.other.wait", "services.worker", "services.built-in.other", "services."]
    {
        let answer = link.ask_as_peer(method, vec![]).await;
        assert_eq!(raised(&answer).1, format!("Method not found: {PEER}:{method} at rust-client"));
    }
}

#[tokio::test]
async fn a_protected_service_is_for_its_workspace_and_the_manager_alone() {
    let (_server, mut link, client, _) = serving().await;
    let manager = link.manager().to_owned();
    for caller in [PEER, &manager] {
        let answer = link.ask(caller, "services.worker.who", vec![]).await;
        assert_eq!((answer.method(), answer.arg(0)), ("asked.resolve", &caller.into()));
    }
    for stranger in ["ws2/peer", "*/manager-2", "w/peer", "ws-2/peer"] {
        for (method, args) in
            [("services.worker.who", vec![]), ("services.built-in.get_service", vec![Value::from("worker")])]
        {
            let answer = link.ask(stranger, method, args).await;
            let (trace, message) = raised(&answer);
            assert!(trace.starts_with("PermissionError") && message.contains("workspace mismatch"), "{message}");
        }
    }
    let open = LocalService::new("open").unwrap().visibility(Visibility::Public);
    offer(&mut link, &client, open.method("get", |_| async { Ok(1.into()) })).await;
    let answer = link.ask("ws2/peer", "services.open.get", vec![]).await;
    assert_eq!(answer.arg(0), &Value::from(1));
}

#[tokio::test]
async fn a_panic_and_an_error_are_the_methods_and_end_nothing_else() {
    let (_server, mut link, _client, _) = serving().await;
    let answer = link.ask_as_peer("services.worker.panic", vec![]).await;
    assert_eq!(raised(&answer).1, "the method panicked");
    let answer = link.ask_as_peer("services.worker.fail", vec![]).await;
    assert_eq!(raised(&answer), ("KeyError: 'x'".to_owned(), "'x'".to_owned()));
    let answer = link.ask_as_peer("services.worker.who", vec![]).await;
    assert_eq!(answer.method(), "asked.resolve");
}

#[tokio::test]
async fn heartbeats_go_to_the_caller_while_a_method_runs_and_not_behind_its_answer() {
    let (_server, mut link, _client, gate) = serving().await;
    let body = map([("args", Value::Array(vec![7.into()])), ("promise", "*".into()), ("t", 0.02.into())]);
    link.relay(PEER, "services.worker.wait", Some("beating"), body).await;
    for _ in 0..3 {
        let beat = link.frame("beating.heartbeat").await;
        assert_eq!((beat.to(), beat.session()), (PEER, ""));
    }
    gate.ends.add_permits(1);
    let answer = loop {
        let frame = link.any_frame().await;
        if frame.method() != "beating.heartbeat" {
            break frame;
        }
    };
    assert_eq!((answer.method(), answer.arg(0)), ("beating.resolve", &Value::from(7)));
    for _ in 0..3 {
        assert!(link.frames_until_now().await.is_empty());
    }
}

#[tokio::test]
async fn who_waits_for_no_answer_gets_none() {
    let (_server, mut link, _client, gate) = serving().await;
    gate.ends.add_permits(1);
    link.relay(PEER, "services.worker.wait", None, map([("args", Value::Array(vec![1.into()]))])).await;
    link.relay(PEER, "services.worker.other", None, map([])).await;
    assert!(link.frames_until_now().await.is_empty());
    assert_eq!(gate.begun.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_the_server_did_not_relay_calls_no_service() {
    let (_server, mut link, _client, gate) = serving().await;
    let head = map([
        ("type", "method".into()),
        ("from", PEER.into()),
        ("to", OWN_ID.into()),
        ("method", "services.worker.wait".into()),
        ("session", "unrelayed".into()),
    ]);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &head).unwrap();
    rmpv::encode::write_value(&mut bytes, &map([("promise", "*".into())])).unwrap();
    link.bytes(bytes).await;
    assert!(link.frames_until_now().await.is_empty());
    assert_eq!(gate.begun.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn more_calls_than_there_are_places_for_are_refused_and_end_nothing() {
    const PLACES: usize = 512;
    let (_server, mut link, _client, gate) = serving().await;
    let body = || map([("promise", "*".into())]);
    for number in 0..PLACES {
        link.relay(PEER, "services.worker.wait", Some(&format!("call-{number}")), body()).await;
    }
    link.relay(PEER, "services.worker.wait", Some("too-many"), body()).await;
    let refused = link.frame("too-many.reject").await;
    assert_eq!(raised(&refused).1, "the client serves as many calls as it can");
    let answer = link.ask_as_peer("services.built-in.ping", vec![]).await;
    assert_eq!(answer.arg(0), &Value::from("pong"), "the ping has its place");
    gate.ends.add_permits(PLACES);
    for _ in 0..PLACES {
        assert!(link.any_frame().await.method().ends_with(".resolve"));
    }
    assert_eq!(link.ask_as_peer("services.worker.who", vec![]).await.method(), "asked.resolve");
}

#[tokio::test]
async fn a_caller_that_cannot_be_waited_for_is_not_served_wrongly() {
    let (_server, mut link, client, _) = serving().await;
    let body = map([("promise", "*".into()), ("t", Duration::ZERO.as_secs_f64().into())]);
    link.relay(PEER, "services.worker.who", Some("never"), body).await;
    assert!(link.frames_until_now().await.is_empty());
    assert_eq!(client.malformed_frames(), 1);
}
