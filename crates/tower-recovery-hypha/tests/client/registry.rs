//! What the registry says: for a resolver, and for a probe.

use std::time::Duration;

use tokio::task::JoinHandle;
use tower_recovery::{
    Failure, LookUp, Resolved,
    registration::{Presence, Registrar},
};
use tower_recovery_hypha::{
    Call, HyphaClient, HyphaRegistrar, HyphaResolver, LocalService, RemoteService, ServiceId, ServiceQuery, Value,
};
use tower_service::Service;

use crate::{
    serving::offer,
    support::{Frame, Link, OWN_ID, connected, field, map, reconnected, soon, until_lost},
};

type Found = Result<Resolved<RemoteService>, Failure>;

fn query() -> LookUp<ServiceQuery> {
    LookUp::new("public/manager".parse::<ServiceId>().unwrap().into())
}

fn look_up(resolver: &HyphaResolver, query: LookUp<ServiceQuery>) -> JoinHandle<Found> {
    tokio::spawn(resolver.clone().call(query))
}

fn info(peer: &str) -> Value {
    map([("id", format!("{peer}:manager").into()), ("name", "manager".into()), ("app_id", "*".into())])
}

async fn identity(found: JoinHandle<Found>) -> String {
    soon(found).await.unwrap().unwrap().identity.as_str().to_owned()
}

/// The registry says that there are several, and lists these.
async fn say_several(link: &mut Link, peers: &[&str]) {
    let asked = link.frame("services.default.get_service_info").await;
    assert_eq!(asked.arg(0), &Value::from("public/*:manager"));
    let words = "Multiple services found for public/*:manager, e.g. ['a', 'b']. You can use mode=...";
    link.reject(&asked, "AssertionError", words).await;
    list(link, peers).await;
}

async fn list(link: &mut Link, peers: &[&str]) {
    let asked = link.frame("services.default.list_services").await;
    let query = asked.arg(0);
    assert_eq!(
        (field(query, "workspace"), field(query, "service_id")),
        (Some(&"public".into()), Some(&"manager".into()))
    );
    link.resolve(&asked, Value::Array(peers.iter().map(|peer| info(peer)).collect())).await;
}

/// The pings that come, one to each of these.
async fn pings(link: &mut Link, peers: &[&str]) -> Vec<Frame> {
    let mut frames = Vec::new();
    for _ in peers {
        frames.push(link.frame("services.built-in.ping").await);
    }
    let mut asked: Vec<&str> = frames.iter().map(Frame::to).collect();
    asked.sort_unstable();
    assert_eq!(asked, peers);
    frames.clone()
}

#[tokio::test]
async fn the_one_that_the_registry_names_is_taken_without_a_question_to_it() {
    let (_server, mut link, client) = connected().await;
    let found = look_up(&HyphaResolver::new(client), query());
    let asked = link.frame("services.default.get_service_info").await;
    assert_eq!(asked.args(), ["public/*:manager".into()]);
    link.resolve(&asked, info("public/a")).await;
    let found = soon(found).await.unwrap().unwrap();
    assert_eq!(
        (found.identity.as_str(), &**found.handle.peer(), &**found.handle.service()),
        ("public/a", "public/a", "manager")
    );
    let _answered = tokio::spawn(found.handle.call_method(Call::new("read")));
    let read = link.frame("services.manager.read").await;
    assert_eq!(read.to(), "public/a");
}

#[tokio::test]
async fn of_several_the_first_to_answer_is_taken() {
    let (_server, mut link, client) = connected().await;
    let found = look_up(&HyphaResolver::new(client), query());
    say_several(&mut link, &["public/a", "public/b"]).await;
    let pings = pings(&mut link, &["public/a", "public/b"]).await;
    let of_b = pings.iter().find(|ping| ping.to() == "public/b").unwrap();
    link.resolve(of_b, "pong".into()).await;
    assert_eq!(identity(found).await, "public/b");
}

#[tokio::test]
async fn of_several_the_one_that_was_evicted_is_not_even_asked() {
    let (_server, mut link, client) = connected().await;
    let resolver = HyphaResolver::new(client);
    let found = look_up(&resolver, query().after_eviction_of("public/a"));
    say_several(&mut link, &["public/a", "public/b", "public/c"]).await;
    let pings = pings(&mut link, &["public/b", "public/c"]).await;
    link.resolve(&pings[0], "pong".into()).await;
    assert_eq!(identity(found).await, pings[0].to());
    // One is left: there is nobody to choose from.
    let found = look_up(&resolver, query().after_eviction_of("public/a"));
    say_several(&mut link, &["public/a", "public/b"]).await;
    assert_eq!(identity(found).await, "public/b");
}

#[tokio::test]
async fn the_one_that_serves_is_kept_while_it_answers_and_left_when_it_does_not() {
    let (_server, mut link, client) = connected().await;
    let resolver = HyphaResolver::new(client).ping_timeout(Duration::from_millis(100));
    let found = look_up(&resolver, query());
    let asked = link.frame("services.default.get_service_info").await;
    link.resolve(&asked, info("public/a")).await;
    assert_eq!(identity(found).await, "public/a");

    let found = look_up(&resolver, query().beside("public/a"));
    say_several(&mut link, &["public/a", "public/b"]).await;
    let ping = link.frame("services.built-in.ping").await;
    assert_eq!(ping.to(), "public/a");
    link.resolve(&ping, "pong".into()).await;
    assert_eq!(identity(found).await, "public/a");

    let found = look_up(&resolver, query().beside("public/a"));
    say_several(&mut link, &["public/a", "public/b"]).await;
    assert_eq!(link.frame("services.built-in.ping").await.to(), "public/a");
    let ping = link.frame("services.built-in.ping").await;
    assert_eq!(ping.to(), "public/b");
    link.resolve(&ping, "pong".into()).await;
    assert_eq!(identity(found).await, "public/b");
}

#[tokio::test]
async fn where_nobody_answers_nobody_is_found() {
    let (_server, mut link, client) = connected().await;
    let found = look_up(&HyphaResolver::new(client), query());
    say_several(&mut link, &["public/a", "public/b"]).await;
    for ping in pings(&mut link, &["public/a", "public/b"]).await {
        link.turn_down(&ping, &format!("Target peer {} is not connected", ping.to())).await;
    }
    let failure = soon(found).await.unwrap().unwrap_err();
    assert!(!failure.verdict().is_permanent() && !format!("{failure:?}").is_empty());
}

#[tokio::test]
async fn that_it_is_forbidden_will_not_change_by_asking_again() {
    let (_server, mut link, client) = connected().await;
    let resolver = HyphaResolver::new(client);
    for (kind, words, is_permanent) in [
        ("PermissionError", "Permission denied for workspace public", true),
        ("KeyError", "'Service not found: public/*:manager@*'", false),
        ("RuntimeError", "PermissionError", false),
        ("AssertionError", "Multiple services found for public/*:other, e.g. ['a']", false),
    ] {
        let found = look_up(&resolver, query());
        let asked = link.frame("services.default.get_service_info").await;
        link.reject(&asked, kind, words).await;
        let failure = soon(found).await.unwrap().unwrap_err();
        assert_eq!(failure.verdict().is_permanent(), is_permanent, "{words}: {failure:?}");
    }
    assert!(link.frames_until_now().await.is_empty());
}

#[tokio::test]
async fn an_answer_of_the_registry_that_is_none_is_told() {
    let (_server, mut link, client) = connected().await;
    for answer in [Value::Nil, map([]), map([("id", 1.into())]), map([("id", "no colon".into())])] {
        let found = look_up(&HyphaResolver::new(client.clone()), query());
        let asked = link.frame("services.default.get_service_info").await;
        link.resolve(&asked, answer).await;
        let failure = soon(found).await.unwrap().unwrap_err();
        assert!(format!("{failure:?}").contains("UnexpectedAnswer"), "{failure:?}");
    }
}

/// What a probe is told, where this is registered.
async fn presence(link: &mut Link, client: &HyphaClient, registered: Vec<Value>) -> Presence {
    // What stands for the connection would close the client when it is dropped.
    let (mut registrar, open) = HyphaRegistrar::new(client.clone());
    let asked = async {
        let asked = link.frame("services.default.list_services").await;
        let query = asked.arg(0);
        assert_eq!(
            (field(query, "workspace"), field(query, "client_id")),
            (Some(&"ws".into()), Some(&"rust-client".into()))
        );
        link.resolve(&asked, Value::Array(registered)).await;
    };
    let presence = soon(async { tokio::join!(asked, registrar.look_up(Some(&open))) }).await.1.unwrap();
    std::mem::forget(open);
    presence
}

#[tokio::test]
async fn a_probe_knows_its_registrations_by_their_marks() {
    let (server, mut link, client) = connected().await;
    offer(&mut link, &client, LocalService::new("worker").unwrap()).await;
    drop(link);
    until_lost(&client).await;
    let mut link = reconnected(&server, &client).await;
    let now = link.registrations.clone();
    assert_eq!(presence(&mut link, &client, now.clone()).await, Presence::Ours);
    assert_eq!(presence(&mut link, &client, vec![]).await, Presence::Missing);
    // One of them alone, whichever.
    for one in &now {
        assert_eq!(presence(&mut link, &client, vec![one.clone()]).await, Presence::Missing);
    }
    drop(link);
    until_lost(&client).await;
    let mut link = reconnected(&server, &client).await;
    assert_eq!(presence(&mut link, &client, now.clone()).await, Presence::Missing, "left of an earlier connection");
    let mixed = vec![link.registrations[0].clone(), now[1].clone()];
    assert_eq!(presence(&mut link, &client, mixed).await, Presence::Missing);
}

#[tokio::test]
async fn a_probe_knows_another_process_of_its_id() {
    let (_server, mut link, client) = connected().await;
    let (_other_server, other, _other_client) = connected().await;
    let another = Presence::Another(OWN_ID.into());
    assert_eq!(presence(&mut link, &client, other.registrations.clone()).await, another);
    let unmarked = map([("id", format!("{OWN_ID}:built-in").into())]);
    assert_eq!(presence(&mut link, &client, vec![unmarked]).await, another, "of another library");
}

#[tokio::test]
async fn a_registration_is_made_anew_by_closing_and_connecting() {
    let (server, link, client) = connected().await;
    let (mut registrar, open) = HyphaRegistrar::new(client.clone());
    soon(async { tokio::join!(link.ended(), registrar.close(open)) }).await;
    let serves = async {
        let mut link = server.accept().await;
        let said = link.admit().await;
        link.registered().await;
        (link, said)
    };
    let ((link, said), open) = soon(async { tokio::join!(serves, registrar.connect()) }).await;
    let open = open.unwrap();
    assert_eq!(said["reconnection_token"].as_str(), None, "or another one of this id would not be noticed");
    registrar.register(&open).await.unwrap();
    drop(open);
    link.ended().await;
}
