//! The server that tests share, workers in this process, and what the registry shows of them.

mod found;
pub(crate) mod process;
mod worker;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::Mutex, time::timeout};
use tower_recovery_test::hypha::{HyphaServer, HyphaServerBuilder, PythonPeer};

pub(crate) use self::{
    found::{entries, found, gone},
    worker::{Probing, Settings, Work, Worker, echo, probe, service, start, start_with},
};

/// How often a probe asks.
pub(crate) const INTERVAL: Duration = Duration::from_secs(3);
/// The longest time that chance puts before a rebuild.
pub(crate) const SPREAD: Duration = Duration::from_millis(500);
/// Within an interval it is seen, and repaired after the spread; the rest is for a machine that has other work to do.
pub(crate) const REPAIRED_WITHIN: Duration = Duration::from_millis(3000 + 500 + 2000);

/// A server, and a Python client that looks for the workers.
#[derive(Debug)]
pub(crate) struct Hypha {
    // Before the server, without which it could not take its leave.
    pub(crate) user: PythonPeer,
    pub(crate) server: HyphaServer,
}

impl Hypha {
    /// `None` where it is not installed.
    pub(crate) async fn start(builder: HyphaServerBuilder) -> Option<Self> {
        // Its log says who was superseded, and who was refused.
        let server = builder.variable("HYPHA_LOGLEVEL", "INFO").start().await?;
        let user = server.peer("user").await.unwrap();
        Some(Self { user, server })
    }

    /// The one that other tests use at this time, or a new one: it ends with the last of those who use it.
    pub(crate) async fn shared() -> Option<Arc<Self>> {
        static SHARED: Mutex<Weak<Hypha>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(hypha) = shared.upgrade() {
            return Some(hypha);
        }
        let hypha = Arc::new(Self::start(HyphaServer::builder()).await?);
        *shared = Arc::downgrade(&hypha);
        Some(hypha)
    }

    /// Whether the server had two connections at a time under this id, or refused one of them.
    pub(crate) fn had_two_at_a_time(&self, peer: &str) -> bool {
        let logs = self.server.logs();
        [
            format!("Superseding stale websocket connection for {peer} "),
            format!("Client already exists and is active: {peer}\n"),
        ]
        .iter()
        .any(|line| logs.contains(line))
    }
}

pub(crate) async fn within<Output>(test: impl Future<Output = Output>) -> Output {
    timeout(Duration::from_secs(90), test).await.expect("the test ends")
}
