//! A scripted server.

mod frame;
mod link;
mod server;

use std::time::Duration;

use tokio::task::JoinHandle;
use tower_recovery_hypha::{Call, CallError, HyphaClient, HyphaClientBuilder, PeerCall, Value};
use tower_service::Service;

pub(crate) use self::{
    frame::{Frame, field, map, packed},
    link::Link,
    server::Server,
};

/// The client under test.
pub(crate) const CLIENT: &str = "rust-client";
/// As others know it.
pub(crate) const OWN_ID: &str = "ws/rust-client";
/// A client that it calls, and that calls it.
pub(crate) const PEER: &str = "ws/peer";
pub(crate) const TOKEN: &str = "the-users-token-is-secret";

/// What is waited for comes in this time, or the test fails.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("what the test waits for did not come in 30 s")
}

/// A builder of the client, whose own timers do not end within a test.
pub(crate) fn builder(server: &Server) -> HyphaClientBuilder {
    HyphaClient::builder(server.url())
        .token(TOKEN)
        .client_id(CLIENT)
        .connect_timeout(Duration::from_secs(60))
        .connection_wait(Duration::from_secs(60))
        .answer_timeout(Duration::from_secs(60))
        .keep_alive(Duration::from_secs(600), Duration::from_secs(600))
        .reconnect_pause(Duration::from_millis(1), Duration::from_millis(50))
}

/// A client that is connected, and the other end of its connection.
pub(crate) async fn connected() -> (Server, Link, HyphaClient) {
    let server = Server::start().await;
    let (link, client) = connect(&server, builder(&server)).await;
    (server, link, client)
}

/// Connects one that is built like this.
pub(crate) async fn connect(server: &Server, builder: HyphaClientBuilder) -> (Link, HyphaClient) {
    let link = async {
        let mut link = server.accept().await;
        link.admit().await;
        link.registered().await;
        link
    };
    let (link, client) = soon(async { tokio::join!(link, builder.connect()) }).await;
    (link, client.expect("the client connects"))
}

/// Lets a client in that connects again.
pub(crate) async fn reconnected(server: &Server, client: &HyphaClient) -> Link {
    let mut link = server.accept().await;
    link.admit().await;
    link.registered().await;
    until_connected(client).await;
    link
}

pub(crate) async fn until_connected(client: &HyphaClient) {
    let mut status = client.status();
    soon(status.wait_for(|status| status.is_connected())).await.unwrap();
}

/// Waits until the client has seen that its connection is gone.
pub(crate) async fn until_lost(client: &HyphaClient) {
    let mut status = client.status();
    soon(status.wait_for(|status| !status.is_connected())).await.unwrap();
}

pub(crate) type Outcome = Result<Value, CallError>;

/// A call of the peer's service `store`, in a task of its own.
pub(crate) fn call(client: &HyphaClient, call: Call) -> JoinHandle<Outcome> {
    call_of(client, PEER, call)
}

pub(crate) fn call_of(client: &HyphaClient, peer: &str, call: Call) -> JoinHandle<Outcome> {
    tokio::spawn(client.clone().call(PeerCall::new(peer, "store", call)))
}

/// What a call in a task came to.
pub(crate) async fn outcome(call: JoinHandle<Outcome>) -> Outcome {
    soon(call).await.expect("a call does not panic")
}

pub(crate) async fn error(call: JoinHandle<Outcome>) -> CallError {
    outcome(call).await.expect_err("the call fails")
}
