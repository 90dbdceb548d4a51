//! Writes with an `Idempotency-Key`: repeated where the user trusts the server with keys, and only there.

mod support;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower_recovery::Delivery;
use tower_recovery_test::{Act, FaultyServer};

use self::support::{bounded, call, door, registry_of, write};

/// The keys of all executions, in their order.
type Keys = Arc<Mutex<Vec<Option<String>>>>;

/// A server whose first connection dies after the run.
async fn dying_once() -> (FaultyServer, Keys) {
    let keys = Keys::default();
    let log = Arc::clone(&keys);
    let server = FaultyServer::builder()
        .application(move |request| {
            let key = request.headers().get("idempotency-key").map(|key| key.to_str().expect("it is text").to_owned());
            log.lock().expect("no holder panics").push(key);
            Response::new(Bytes::from_static(b"done"))
        })
        .script([Act::RunThenReset])
        .start()
        .await
        .expect("a port is free");
    (server, keys)
}

fn keyed(id: &str, key: &'static str) -> Request<Full<Bytes>> {
    let mut request = write(id);
    request.headers_mut().insert("idempotency-key", key.parse().expect("a value"));
    request
}

#[tokio::test]
async fn a_write_with_a_key_is_repeated_with_the_same_key_where_keys_are_trusted() {
    let (server, keys) = dying_once().await;
    let mut api = door(&registry_of(&server).await).trust_idempotency_keys().build().unwrap();
    assert_eq!(bounded(call(&mut api, keyed("order", "\"8e03978e\""))).await.unwrap(), "done");
    let key = Some("\"8e03978e\"".to_owned());
    assert_eq!(*keys.lock().unwrap(), [key.clone(), key]);
    let silenced = server.executions().iter().any(|run| run.query.is_some());
    assert!(!silenced, "a write is not silenced");
}

#[tokio::test]
async fn a_write_without_a_key_or_without_the_users_trust_is_not_repeated() {
    for (is_trusted, request) in
        [(false, keyed("order", "\"8e03978e\"")), (true, write("order")), (true, keyed("order", ""))]
    {
        let (server, keys) = dying_once().await;
        let door = door(&registry_of(&server).await);
        let door = if is_trusted { door.trust_idempotency_keys() } else { door };
        let failure = bounded(call(&mut door.build().unwrap(), request)).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1), "trusted: {is_trusted}");
        assert_eq!((keys.lock().unwrap().len(), server.executed("order")), (1, 1), "trusted: {is_trusted}");
    }
}
