//! What the tests of this crate share: a registry of origins, requests with an id, and calls.

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod clients;
pub(crate) mod wire;

use std::{io, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use tokio::time::timeout;
use tower::{Service, ServiceExt};
use tower_recovery::{Failure, Recovery};
use tower_recovery_http::{CollectedBody, HttpFrontDoor, HttpRecovery, Origin, ReadRoutes, Silence};
use tower_recovery_test::{FaultyServer, Registry, RegistryResolver};

pub(crate) use self::clients::{Api, Client, Settings};

pub(crate) const NAME: &str = "artifact-manager";

/// Ends a test that hangs.
pub(crate) async fn bounded<Output>(future: impl Future<Output = Output>) -> Output {
    timeout(Duration::from_secs(30), future).await.expect("the test hangs")
}

pub(crate) type Door = HttpRecovery<RegistryResolver<Origin>, &'static str>;

/// The front door of a service that this registry knows, with one silent read, one plain one, and writes.
pub(crate) fn door(registry: &Registry<Origin>) -> Door {
    Recovery::http(registry.resolver(), NAME).reads(reads())
}

fn reads() -> ReadRoutes {
    ReadRoutes::listed_only()
        .read(Method::GET, "/list")
        .and_then(|reads| reads.silent(Method::GET, "/read", Silence::query("silent", "true")?))
        .expect("the routes are well formed")
}

/// Registers this server as the one that serves the name.
pub(crate) fn register(registry: &Registry<Origin>, identity: &str, server: &FaultyServer) {
    registry.register(NAME, identity, server.origin().parse().expect("an origin"));
}

pub(crate) async fn registry_of(server: &FaultyServer) -> Registry<Origin> {
    let registry = Registry::new();
    register(&registry, "first", server);
    registry
}

pub(crate) async fn server() -> io::Result<FaultyServer> {
    FaultyServer::builder().application(|_| Response::new(Bytes::from_static(b"done"))).start().await
}

pub(crate) fn request(method: Method, uri: &str, id: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(uri).header("x-request-id", id).body(Full::from("a body")).expect("a request")
}

pub(crate) fn write(id: &str) -> Request<Full<Bytes>> {
    request(Method::POST, "/commit", id)
}

pub(crate) fn read(id: &str) -> Request<Full<Bytes>> {
    request(Method::GET, "/read", id)
}

/// One call, to its answer's text.
pub(crate) async fn call<Stack>(stack: &mut Stack, request: Request<Full<Bytes>>) -> Result<Bytes, Failure>
where
    Stack: Service<Request<Full<Bytes>>, Response = Response<CollectedBody>, Error = Failure>,
{
    Ok(stack.ready().await?.call(request).await?.into_body().to_bytes())
}

/// Everything that can run has run: the tests have one thread, which looks at its sockets after every 61 turns.
pub(crate) async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}
