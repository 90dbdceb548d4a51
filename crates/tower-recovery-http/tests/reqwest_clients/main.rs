//! reqwest under the front door, over real sockets: one suite, run for each version.

#![cfg(any(feature = "reqwest", feature = "reqwest-0-12"))]

#[cfg(feature = "reqwest-0-12")]
mod v0_12;
#[cfg(feature = "reqwest")]
mod v0_13;
#[path = "../support/wire.rs"]
#[allow(dead_code, reason = "a part of it is used here")]
mod wire;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use http::{Method, Response};
use tower_recovery::Recovery;
use tower_recovery_http::{HttpFrontDoor, HttpRecovery, Origin, ReadRoutes, Silence};
use tower_recovery_test::{Act, FaultyServer, ScriptedResolver, Step};

type Door = HttpRecovery<ScriptedResolver<Origin>, &'static str>;

/// The front door of a service whose name leads to these origins, to one after the other, and in the end to the last one.
fn door<Text: AsRef<str>>(origins: impl IntoIterator<Item = Text>) -> Door {
    let resolved = |text: Text| {
        let origin: Origin = text.as_ref().parse().expect("an origin");
        Step::resolved(origin.to_string(), origin)
    };
    let reads = ReadRoutes::safe()
        .silent(Method::GET, "/read", Silence::query("silent", "true").expect("it can stand in a query"))
        .expect("the route is well formed");
    Recovery::http(ScriptedResolver::new(origins.into_iter().map(resolved)), "artifact-manager").reads(reads)
}

/// A server that does this with the first requests, and answers all others with `done`.
async fn server(acts: impl IntoIterator<Item = Act>) -> FaultyServer {
    FaultyServer::builder()
        .application(|_| Response::new(Bytes::from_static(b"done")))
        .script(Vec::from_iter(acts))
        .start()
        .await
        .expect("a port is free")
}

/// No wait on a socket is for ever.
async fn bounded<Waited: Future>(waited: Waited) -> Waited::Output {
    tokio::time::timeout(Duration::from_secs(30), waited).await.expect("it ends within 30 s")
}
