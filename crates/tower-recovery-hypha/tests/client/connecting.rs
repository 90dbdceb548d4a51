//! Being let in, and not being let in.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use tower_recovery_hypha::{
    BuildError, Call, ConnectError, ConnectionStatus, HyphaClient, HyphaClientBuilder, StartError, Value,
};

use crate::support::{CLIENT, Link, OWN_ID, PEER, Server, TOKEN, builder, call, connected, map, soon};

/// Why a client does not connect, where the server does this to it after the authentication.
async fn refused(
    server: &Server,
    builder: HyphaClientBuilder,
    refuse: impl AsyncFnOnce(&mut Link),
) -> Arc<ConnectError> {
    let serves = async {
        let mut link = server.accept().await;
        link.authentication().await;
        refuse(&mut link).await;
        link
    };
    let (_link, outcome) = soon(async { tokio::join!(serves, builder.connect()) }).await;
    match outcome {
        Err(StartError::Connect(error)) => error,
        other => panic!("it was to be refused: {other:?}"),
    }
}

#[tokio::test]
async fn the_token_the_workspace_and_the_client_id_are_said_as_they_were_given() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        let said = link.admit().await;
        link.registered().await;
        (link, said)
    };
    let ((_link, said), client) =
        soon(async { tokio::join!(serves, builder(&server).workspace("ws").connect()) }).await;
    assert_eq!(said, json!({"client_id": CLIENT, "workspace": "ws", "token": TOKEN, "reconnection_token": null}));
    let client = client.unwrap();
    assert_eq!((&*client.id(), client.workspace().as_deref()), (OWN_ID, Some("ws")));
}

#[tokio::test]
async fn who_gives_no_token_and_no_workspace_says_none() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        let said = link.authentication().await;
        link.connection_info(json!({"workspace": "ws-anonymous"})).await;
        link.registered().await;
        (link, said)
    };
    let client = HyphaClient::builder(server.url()).client_id(CLIENT).connect();
    let ((_link, said), client) = soon(async { tokio::join!(serves, client) }).await;
    assert_eq!(said, json!({"client_id": CLIENT, "workspace": null, "token": null, "reconnection_token": null}));
    assert_eq!(&*client.unwrap().id(), "ws-anonymous/rust-client");
}

#[tokio::test]
async fn what_comes_before_the_client_is_let_in_is_left_out() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        link.authentication().await;
        link.call(PEER, "services.built-in.ping", "early", vec!["ping".into()]).await;
        link.bytes(b"garbage".to_vec()).await;
        link.message(Message::Ping(b"x".to_vec().into())).await;
        link.connection_info(json!({})).await;
        link.registered().await;
        link
    };
    let (mut link, client) = soon(async { tokio::join!(serves, builder(&server).connect()) }).await;
    let client = client.unwrap();
    assert_eq!(client.malformed_frames(), 0);
    assert!(link.frames_until_now().await.is_empty(), "the early ping is answered to nobody");
}

#[tokio::test]
async fn the_servers_words_become_an_error_of_a_kind() {
    type Is = fn(&ConnectError) -> bool;
    let cases: [(&str, Is, bool); 5] = [
        ("Authentication error: expired", |error| matches!(error, ConnectError::Unauthenticated { .. }), true),
        (
            "Failed to establish connection: Permission denied for workspace: ws",
            |error| matches!(error, ConnectError::Forbidden { .. }),
            true,
        ),
        (
            "Failed to establish connection: Client already exists and is active: ws/rust-client",
            |error| matches!(error, ConnectError::AlreadyConnected { client } if &**client == OWN_ID),
            false,
        ),
        (
            "Server busy",
            |error| matches!(error, ConnectError::Refused { message } if &**message == "Server busy"),
            false,
        ),
        ("", |error| matches!(error, ConnectError::Refused { .. }), false),
    ];
    for (words, is_expected, is_permanent) in cases {
        let server = Server::start().await;
        let text = json!({"type": "error", "message": words}).to_string();
        let error = refused(&server, builder(&server), async |link| link.text(&text).await).await;
        assert!(is_expected(&error) && error.is_permanent() == is_permanent, "{words}: {error:?}");
    }
}

#[tokio::test]
async fn the_reason_of_a_close_is_read_as_the_servers_words() {
    let server = Server::start().await;
    let error = refused(&server, builder(&server), async |link| {
        let reason = "Authentication error: expired".into();
        link.message(Message::Close(Some(CloseFrame { code: 1008.into(), reason }))).await;
    })
    .await;
    assert!(matches!(*error, ConnectError::Unauthenticated { .. }), "{error:?}");
}

#[tokio::test]
async fn another_workspace_than_was_asked_for_is_refused() {
    let server = Server::start().await;
    let error = refused(&server, builder(&server).workspace("mine"), async |link| {
        link.connection_info(json!({"workspace": "theirs"})).await;
    })
    .await;
    assert!(
        matches!(&*error, ConnectError::WrongWorkspace { given, wanted } if (&**given, &**wanted) == ("theirs", "mine")),
        "{error:?}"
    );
}

#[tokio::test]
async fn who_is_put_into_another_workspace_when_it_comes_back_is_refused() {
    let (server, link, client) = connected().await;
    drop(link);
    let mut link = server.accept().await;
    let said = link.authentication().await;
    assert_eq!(said["workspace"], "ws", "though its user had named none");
    link.connection_info(json!({"workspace": "theirs"})).await;
    let mut link = server.accept().await;
    link.authentication().await;
    link.connection_info(json!({"workspace": "theirs"})).await;
    let mut status = client.status();
    let is_refused = |status: &ConnectionStatus| matches!(status, ConnectionStatus::Refused(_));
    soon(status.wait_for(is_refused)).await.unwrap();
    assert_eq!(&*client.id(), OWN_ID);
}

#[tokio::test]
async fn what_no_hypha_server_says_is_an_error_of_the_protocol() {
    for text in ["pardon?", "{}", "[]", r#"{"type": "connection_info"}"#, r#"{"type": "pong"}"#] {
        let server = Server::start().await;
        let error = refused(&server, builder(&server), async |link| link.text(text).await).await;
        assert!(matches!(*error, ConnectError::Protocol(_)) && !error.is_permanent(), "{text}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_is_an_error_of_the_websocket() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        link.authentication().await;
    };
    let (_, outcome) = soon(async { tokio::join!(serves, builder(&server).connect()) }).await;
    assert!(
        matches!(&outcome, Err(StartError::Connect(error)) if matches!(**error, ConnectError::Websocket(_))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_wherever_it_does() {
    const LIMIT: Duration = Duration::from_millis(150);
    let server = Server::start().await;
    let serves = async {
        let silent = server.accept_tcp().await;
        let mut link = server.accept().await;
        link.authentication().await;
        (silent, link)
    };
    let connects = async {
        for _ in 0..2 {
            match builder(&server).connect_timeout(LIMIT).connect().await {
                Err(StartError::Connect(error)) => {
                    assert!(matches!(*error, ConnectError::TimedOut(LIMIT)), "{error:?}")
                }
                other => panic!("{other:?}"),
            }
        }
    };
    soon(async { tokio::join!(serves, connects) }).await;
}

#[tokio::test]
async fn what_is_no_websocket_is_an_error_of_the_websocket() {
    let server = Server::start().await;
    let serves = async {
        let mut stream = server.accept_tcp().await;
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        (stream, String::from_utf8_lossy(&request[..length]).into_owned())
    };
    let ((_stream, request), outcome) = soon(async { tokio::join!(serves, builder(&server).connect()) }).await;
    assert!(request.starts_with("GET /ws HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains(TOKEN));
    assert!(
        matches!(&outcome, Err(StartError::Connect(error)) if matches!(**error, ConnectError::Websocket(_))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn nobody_who_listens_is_unreachable() {
    let server = Server::start().await;
    let (builder, authority) = (builder(&server), server.authority());
    drop(server);
    let outcome = soon(builder.connect()).await;
    let Err(StartError::Connect(error)) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(&*error, ConnectError::Unreachable { host, .. } if **host == *authority), "{error:?}");
}

#[tokio::test]
async fn a_server_of_https_without_tls_is_refused_before_anything_is_sent() {
    let outcome = HyphaClient::builder("https://hypha.test").token(TOKEN).build();
    let Err(BuildError::Setting(error)) = outcome else { panic!("{outcome:?}") };
    assert!(error.to_string().contains("tls"), "{error}");
}

#[tokio::test]
async fn a_registration_that_is_refused_is_no_connection() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        link.admit().await;
        let register = link.frame("services.default.register_service").await;
        link.reject(&register, "RuntimeError", "no place").await;
        link.ended().await
    };
    let (_, outcome) = soon(async { tokio::join!(serves, builder(&server).connect()) }).await;
    let Err(StartError::Connect(error)) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(&*error, ConnectError::Registration { service, .. } if &**service == "built-in"), "{error:?}");
}

#[tokio::test]
async fn who_may_only_read_connects_and_calls_without_being_registered() {
    let server = Server::start().await;
    let serves = async {
        let mut link = server.accept().await;
        link.admit().await;
        let register = link.frame("services.default.register_service").await;
        link.reject(&register, "PermissionError", "Permission denied for workspace ws").await;
        let subscribe = link.frame("services.default.subscribe").await;
        link.reject(&subscribe, "PermissionError", "neither this").await;
        link
    };
    let (mut link, client) = soon(async { tokio::join!(serves, builder(&server).connect()) }).await;
    let client = client.unwrap();
    let answered = call(&client, Call::new("get"));
    let get = link.frame("services.store.get").await;
    link.resolve(&get, map([("a", 1.into())])).await;
    assert_eq!(soon(answered).await.unwrap().unwrap(), map([("a", Value::from(1))]));
}
