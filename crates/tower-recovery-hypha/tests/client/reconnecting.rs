//! Connections that are lost, and made again.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use tower_recovery_hypha::{Call, CallError, ConnectError, ConnectionStatus, LocalService, Value};

use crate::{
    serving::offer,
    support::{
        Link, OWN_ID, Server, TOKEN, builder, call, connect, connected, error, field, outcome, reconnected, soon,
        until_connected, until_lost,
    },
};

const FORBIDDEN: &str =
    r#"{"type": "error", "message": "Failed to establish connection: Failed to authenticate user: expired"}"#;

#[tokio::test]
async fn a_lost_client_comes_back_by_its_token_for_that_into_its_workspace() {
    let (server, link, client) = connected().await;
    drop(link);
    let mut link = server.accept().await;
    let said = link.admit().await;
    assert_eq!(
        said,
        json!({"client_id": "rust-client", "workspace": "ws", "token": null, "reconnection_token": "for-coming-back-is-secret"})
    );
    link.registered().await;
    until_connected(&client).await;
    assert_eq!((&*client.id(), server.accepted()), (OWN_ID, 2));
}

#[tokio::test]
async fn the_latest_token_for_coming_back_is_used() {
    let (server, mut link, _client) = connected().await;
    link.text(r#"{"type": "reconnection_token", "reconnection_token": "the-latest"}"#).await;
    link.frames_until_now().await;
    drop(link);
    assert_eq!(server.accept().await.authentication().await["reconnection_token"], "the-latest");
}

#[tokio::test]
async fn a_new_token_is_asked_for_before_the_old_one_ends() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        link.authentication().await;
        link.connection_info(json!({"reconnection_token_life_time": 2.0})).await;
        link.registered().await;
        let asked = loop {
            let text = link.next_text().await;
            if text.contains("refresh_token") {
                break text;
            }
        };
        (link, asked)
    };
    let ((_link, asked), _client) = soon(async { tokio::join!(serves, builder(&server).connect()) }).await;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&asked).unwrap(), json!({"type": "refresh_token"}));
}

#[tokio::test]
async fn where_the_token_for_coming_back_is_refused_that_of_the_user_is_used() {
    let (server, link, client) = connected().await;
    drop(link);
    let mut link = server.accept().await;
    link.authentication().await;
    link.text(FORBIDDEN).await;
    let mut link = server.accept().await;
    assert_eq!(link.authentication().await["token"], TOKEN);
    link.text(r#"{"type": "error", "message": "Server busy"}"#).await;
    // What was refused is not tried again.
    let mut link = server.accept().await;
    let said = link.admit().await;
    assert_eq!((said["token"].as_str(), said["reconnection_token"].as_str()), (Some(TOKEN), None));
    assert_eq!(said["workspace"], "ws");
    link.registered().await;
    until_connected(&client).await;
}

#[tokio::test]
async fn a_server_that_breaks_off_does_not_cost_the_token_for_coming_back() {
    let (server, link, client) = connected().await;
    drop(link);
    for _ in 0..3 {
        let mut link = server.accept().await;
        assert_eq!(link.authentication().await["reconnection_token"], "for-coming-back-is-secret");
    }
    reconnected(&server, &client).await;
}

/// The names of what was registered, in order, and the marks.
fn registered(link: &Link) -> (Vec<String>, Vec<Value>) {
    let of = |info: &Value| {
        let id = field(info, "id").unwrap().as_str().unwrap().to_owned();
        let mark = field(field(info, "config").unwrap(), "registration").unwrap().clone();
        (id.strip_prefix(&format!("{OWN_ID}:")).unwrap().to_owned(), mark)
    };
    link.registrations.iter().map(of).unzip()
}

#[tokio::test]
async fn over_every_connection_all_is_registered_again_and_first_what_every_client_must_have() {
    let (server, mut link, client) = connected().await;
    for name in ["worker", "a-first-name"] {
        offer(&mut link, &client, LocalService::new(name).unwrap()).await;
    }
    let mut marks = registered(&link).1;
    for _ in 0..3 {
        drop(link);
        link = reconnected(&server, &client).await;
        let (names, own) = registered(&link);
        assert_eq!(names, ["built-in", "a-first-name", "worker"]);
        assert!(own.iter().all(|mark| *mark == own[0]), "{own:?}");
        assert!(!marks.contains(&own[0]), "of another connection: {own:?}");
        marks.push(own[0].clone());
    }
}

#[tokio::test]
async fn a_client_is_connected_only_when_all_is_registered() {
    let (server, link, client) = connected().await;
    drop(link);
    let mut link = server.accept().await;
    link.admit().await;
    let register = link.frame("services.default.register_service").await;
    assert!(!client.status().borrow().is_connected());
    link.reject(&register, "RuntimeError", "no place").await;
    link.ended().await;
    assert!(!client.status().borrow().is_connected());
    reconnected(&server, &client).await;
}

#[tokio::test]
async fn who_is_put_out_at_once_comes_back_ever_more_slowly() {
    let server = Server::start().await;
    let pause = Duration::from_millis(20);
    let (mut link, client) = connect(&server, builder(&server).reconnect_pause(pause, Duration::from_secs(60))).await;
    for flap in 0..6 {
        let began = Instant::now();
        drop(link);
        link = server.accept().await;
        // Chance takes up to a half away; a busy machine only adds to it.
        let least = pause * 2_u32.pow(flap) / 2;
        assert!(began.elapsed() >= least, "after flap {flap} it came back in {:?}, before {least:?}", began.elapsed());
        link.admit().await;
        link.registered().await;
        until_connected(&client).await;
    }
}

#[tokio::test]
async fn a_client_that_is_refused_for_good_fails_calls_at_once_and_recovers_when_it_is_accepted() {
    let (server, link, client) = connected().await;
    drop(link);
    until_lost(&client).await;
    let waits = call(&client, Call::new("get"));
    // By the token for coming back, and by the user's.
    for _ in 0..2 {
        let mut link = server.accept().await;
        link.authentication().await;
        link.text(FORBIDDEN).await;
    }
    for failed in [error(waits).await, error(call(&client, Call::new("get"))).await] {
        let CallError::Refused(reason) = &failed else { panic!("{failed:?}") };
        assert!(matches!(**reason, ConnectError::Unauthenticated { .. }) && failed.is_send_side(), "{failed:?}");
    }
    assert!(matches!(*client.status().borrow(), ConnectionStatus::Refused(_)));
    let mut link = reconnected(&server, &client).await;
    let answered = call(&client, Call::new("get"));
    let get = link.frame("services.store.get").await;
    link.resolve(&get, 1.into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from(1));
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let server = Server::start().await;
    let limit = Duration::from_millis(100);
    let (mut link, client) = connect(&server, builder(&server).keep_alive(limit, limit)).await;
    let answered = call(&client, Call::new("get"));
    link.frame("services.store.get").await;
    if link.texts.is_empty() {
        let text = link.next_text().await;
        link.texts.push(text);
    }
    assert_eq!(link.texts[0], r#"{"type": "ping"}"#);
    let lost = error(answered).await;
    assert!(
        matches!(&lost, CallError::ConnectionLost { reason } if reason.starts_with("nothing came from the server")),
        "{lost:?}"
    );
    server.accept().await;
}

#[tokio::test]
async fn why_the_server_closed_is_told() {
    for in_text in [true, false] {
        let (_server, mut link, client) = connected().await;
        let answered = call(&client, Call::new("get"));
        link.frame("services.store.get").await;
        if in_text {
            link.text(r#"{"type": "error", "message": "the workspace was unloaded"}"#).await;
        }
        let reason = if in_text { "" } else { "the workspace was unloaded" };
        link.message(Message::Close(Some(CloseFrame { code: 1001.into(), reason: reason.into() }))).await;
        let lost = error(answered).await;
        assert!(
            matches!(&lost, CallError::ConnectionLost { reason } if &**reason == "the workspace was unloaded"),
            "{lost:?}"
        );
    }
}

#[tokio::test]
async fn a_client_that_is_closed_while_it_connects_does_not_connect() {
    let (server, link, client) = connected().await;
    drop(link);
    let mut link = server.accept().await;
    link.authentication().await;
    soon(client.close()).await;
    link.ended().await;
    assert!(matches!(*client.status().borrow(), ConnectionStatus::Closed));
}

#[tokio::test]
async fn disconnects_are_reported_by_the_status() {
    let (server, link, client) = connected().await;
    drop(link);
    until_lost(&client).await;
    match &*client.status().borrow() {
        ConnectionStatus::Connecting { failures: 1, last: Some(last) } => {
            assert!(matches!(**last, ConnectError::Lost { .. }), "{last:?}");
        }
        other => panic!("{other:?}"),
    }
    reconnected(&server, &client).await;
}
