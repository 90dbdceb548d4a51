//! How long what is served lives: over connections, and with the client.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::Semaphore;
use tower_recovery_hypha::{LocalService, Value};

use crate::{
    serving::{Gate, offer, raised, serving},
    support::{OWN_ID, PEER, connected, field, reconnected, soon, until_lost},
};

#[tokio::test]
async fn a_result_is_given_over_the_next_connection_if_the_first_was_cut() {
    let (server, mut link, client, gate) = serving().await;
    link.call(PEER, "services.worker.wait", "waiting", vec!["a result".into()]).await;
    link.frame("waiting.heartbeat").await;
    drop(link);
    until_lost(&client).await;
    let mut link = reconnected(&server, &client).await;
    assert_eq!(link.registrations.len(), 2);
    gate.ends.add_permits(1);
    let answer = link.frame("waiting.resolve").await;
    assert_eq!((answer.to(), answer.arg(0)), (PEER, &Value::from("a result")));
    assert_eq!(gate.begun.load(Ordering::Relaxed), 1, "it ran once");
}

#[tokio::test]
async fn a_result_that_comes_while_there_is_no_connection_waits_for_the_next() {
    let (server, mut link, client, gate) = serving().await;
    link.call(PEER, "services.worker.wait", "waiting", vec!["a result".into()]).await;
    link.frame("waiting.heartbeat").await;
    drop(link);
    until_lost(&client).await;
    gate.ends.add_permits(1);
    let mut link = server.accept().await;
    link.admit().await;
    let answer = loop {
        let frame = link.any_frame().await;
        if frame.method() == "waiting.resolve" {
            break frame;
        }
        link.resolve(&frame, Value::Nil).await;
    };
    assert_eq!((answer.to(), answer.arg(0)), (PEER, &Value::from("a result")));
}

#[tokio::test]
async fn a_service_that_the_registry_refuses_is_not_offered() {
    let (_server, mut link, client) = connected().await;
    let serves = async {
        let register = link.frame("services.default.register_service").await;
        assert_eq!(field(register.arg(0), "id"), Some(&format!("{OWN_ID}:worker").into()));
        link.reject(&register, "PermissionError", "not you").await;
    };
    let (_, offered) = soon(async { tokio::join!(serves, client.offer(Gate::new().service())) }).await;
    offered.unwrap_err();
    let answer = link.ask_as_peer("services.worker.who", vec![]).await;
    assert!(raised(&answer).1.starts_with("Method not found"));
}

#[tokio::test]
async fn what_is_taken_back_is_not_served_and_not_registered_again() {
    let (server, mut link, client, _) = serving().await;
    let serves = async {
        let frame = link.frame("services.default.unregister_service").await;
        assert_eq!(frame.arg(0), &Value::from(format!("{OWN_ID}:worker")));
        link.resolve(&frame, Value::Nil).await;
    };
    soon(async { tokio::join!(serves, client.withdraw("worker")) }).await.1.unwrap();
    let answer = link.ask_as_peer("services.worker.who", vec![]).await;
    assert!(raised(&answer).1.starts_with("Method not found"));
    drop(link);
    assert_eq!(reconnected(&server, &client).await.registrations.len(), 1);
}

#[tokio::test]
async fn methods_end_with_the_last_clone_of_the_client() {
    struct Ended(Arc<Semaphore>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }
    let (_server, mut link, client) = connected().await;
    let ended = Arc::new(Semaphore::new(0));
    let ends = Arc::clone(&ended);
    let service = LocalService::new("worker").unwrap().method("wait", move |_| {
        let guard = Ended(Arc::clone(&ends));
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
            Ok(Value::Nil)
        }
    });
    offer(&mut link, &client, service).await;
    link.call(PEER, "services.worker.wait", "waiting", vec![]).await;
    link.frame("waiting.heartbeat").await;
    drop(client);
    soon(ended.acquire()).await.unwrap().forget();
}
