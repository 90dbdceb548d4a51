//! A client that is opened, closed and dropped, and what it shows of its secrets.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tower_recovery_hypha::{Call, CallError, ConnectError, ConnectionStatus, Value};

use crate::support::{Server, TOKEN, builder, call, connect, connected, error, reconnected, soon, until_lost};

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_token_and_no_payload_is_logged_or_printed() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).finish();
    // For all tests of this process: where several threads come first to one place, tracing asks the wrong one of them whether it logs.
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let server = Server::start().await;
    let builder = builder(&server);
    let mut printed = format!("{builder:?}");
    let (mut link, client) = connect(&server, builder).await;
    let answered = call(&client, Call::new("put").arg("a payload that is secret"));
    let put = link.any_frame().await;
    link.resolve(&put, "a result that is secret".into()).await;
    soon(answered).await.unwrap().unwrap();
    link.bytes(b"\x81\xa1a\xa9is secret".to_vec()).await;
    link.text("{\"type\": \"reconnection_token\", \"reconnection_token\": \"another-is-secret\"}").await;
    link.frames_until_now().await;
    drop(link);
    until_lost(&client).await;
    let mut link = server.accept().await;
    link.authentication().await;
    link.text(r#"{"type": "error", "message": "Failed to establish connection: Permission denied for workspace: ws"}"#)
        .await;
    drop(link);
    let mut link = server.accept().await;
    link.authentication().await;
    link.text(r#"{"type": "error", "message": "Failed to establish connection: Permission denied for workspace: ws"}"#)
        .await;
    soon(client.status().wait_for(|status| matches!(status, ConnectionStatus::Refused(_)))).await.unwrap();
    let error = error(call(&client, Call::new("get"))).await;
    printed.push_str(&format!("{client:?} {:?} {error} {error:?}", *client.status().borrow()));

    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("no connection to the server") && logged.contains("a frame cannot be read"), "{logged}");
    for shown in [logged, printed] {
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_client_that_was_closed_opens_again_by_the_token_that_the_user_gave() {
    let (server, link, client) = connected().await;
    let (ended, ()) = soon(async { tokio::join!(link.ended(), client.close()) }).await;
    assert_eq!(ended, "closed", "with a word of farewell");
    let error = error(call(&client, Call::new("get"))).await;
    assert!(matches!(error, CallError::Closed), "{error:?}");

    let serves = async {
        let mut link = server.accept().await;
        let said = link.admit().await;
        link.registered().await;
        (link, said)
    };
    let ((mut link, said), opened) = soon(async { tokio::join!(serves, client.open()) }).await;
    opened.unwrap();
    assert_eq!((said["token"].as_str(), said["reconnection_token"].as_str()), (Some(TOKEN), None));
    let answered = call(&client, Call::new("get"));
    let get = link.frame("services.store.get").await;
    link.resolve(&get, 1.into()).await;
    assert_eq!(soon(answered).await.unwrap().unwrap(), Value::from(1));
}

#[tokio::test]
async fn opening_a_client_that_is_connecting_again_waits_for_the_next_try_and_does_not_close_it() {
    let (server, link, client) = connected().await;
    drop(link);
    until_lost(&client).await;
    let fails = async { drop(server.accept().await) };
    soon(async { tokio::join!(fails, client.open()) }).await.1.unwrap_err();
    soon(async { tokio::join!(reconnected(&server, &client), client.open()) }).await.1.unwrap();
}

#[tokio::test]
async fn the_socket_ends_with_the_last_clone() {
    let (_server, mut link, client) = connected().await;
    let clone = client.clone();
    drop(client);
    assert!(link.frames_until_now().await.is_empty());
    drop(clone);
    link.ended().await;
}

#[tokio::test]
async fn opening_and_closing_at_one_time_both_end() {
    let (server, link, client) = connected().await;
    // It is closed in between, and another connection made.
    let again = async {
        link.ended().await;
        let mut link = server.accept().await;
        link.admit().await;
        link.registered().await;
        link
    };
    let ((), opened, link) = soon(async { tokio::join!(client.close(), client.open(), again) }).await;
    opened.unwrap();
    let (opened, (), _) = soon(async { tokio::join!(client.open(), client.close(), link.ended()) }).await;
    opened.expect("it was there");
    // And where it was closed before.
    let (opened, ()) = soon(async { tokio::join!(client.open(), client.close()) }).await;
    assert!(matches!(*opened.unwrap_err(), ConnectError::Closed));
    assert!(matches!(*client.status().borrow(), ConnectionStatus::Closed));
}
