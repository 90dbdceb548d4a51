//! A worker: a client under a fixed id that offers one service and looks after its registration.

use std::time::Duration;

use tokio::{sync::watch, task::JoinSet, time::timeout};
use tower_recovery::{
    RegistrationMonitor, RegistrationProbe,
    registration::{RegistrationProbeBuilder, RegistrationStatus},
};
use tower_recovery_hypha::{Call, HyphaClient, HyphaRegistrar, LocalService, Value};
use tower_recovery_test::{Gate, hypha::HyphaServer};

use super::{INTERVAL, SPREAD};

/// The service of every worker.
const SERVICE: &str = "worker";

/// How a worker reaches its server.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) client_id: String,
    pub(crate) probing: Probing,
}

/// When a worker's probe looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probing {
    pub(crate) interval: Duration,
    /// Whether the client tells it what it notices: without that it looks once an interval, and nothing else has it look.
    pub(crate) is_told: bool,
}

impl Default for Probing {
    fn default() -> Self {
        Self { interval: INTERVAL, is_told: true }
    }
}

impl Settings {
    /// In the workspace of root.
    pub(crate) fn of(server: &HyphaServer, client_id: &str) -> Self {
        let (url, token) = (server.url(), server.token().into());
        Self { url, token, client_id: client_id.into(), probing: Probing::default() }
    }

    /// The probe is told nothing.
    pub(crate) fn untold(mut self) -> Self {
        self.probing.is_told = false;
        self
    }

    pub(crate) async fn connect(&self) -> HyphaClient {
        self.builder().connect().await.unwrap()
    }

    pub(crate) fn builder(&self) -> tower_recovery_hypha::HyphaClientBuilder {
        HyphaClient::builder(&self.url)
            .token(self.token.as_str())
            .client_id(self.client_id.as_str())
            .reconnect_pause(Duration::from_millis(50), Duration::from_millis(500))
            // A server that starts anew beside other work takes its time.
            .connection_wait(Duration::from_secs(30))
    }
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) client: HyphaClient,
    pub(crate) monitor: RegistrationMonitor,
    pub(crate) work: Work,
    /// The probe, and what tells it of disconnects and removals.
    pub(crate) tasks: JoinSet<()>,
}

/// The method `work`, which waits for the test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(crate) may_end: Gate,
    pub(crate) began: Gate,
    done: watch::Sender<u64>,
}

impl Work {
    pub(crate) fn done(&self) -> u64 {
        *self.done.borrow()
    }

    /// Waits until it was done so often.
    pub(crate) async fn ended(&self, times: u64) {
        let mut done = self.done.subscribe();
        timeout(Duration::from_secs(30), done.wait_for(|done| *done >= times)).await.expect("it ends").unwrap();
    }

    async fn run(self) -> Value {
        self.began.open();
        self.may_end.opened().await;
        self.done.send_modify(|done| *done += 1);
        Value::from("done")
    }
}

impl Worker {
    /// `workspace/client`.
    pub(crate) fn peer(&self) -> String {
        self.client.id().to_string()
    }

    /// What Python resolves.
    pub(crate) fn service(&self) -> String {
        format!("{}:{SERVICE}", self.client.id())
    }

    /// Waits for a status of the probe.
    pub(crate) async fn wait_until(&mut self, is_so: impl FnMut(&RegistrationStatus) -> bool) -> RegistrationStatus {
        let status = timeout(Duration::from_secs(30), self.monitor.wait_until(is_so)).await;
        let status = status.unwrap_or_else(|_| panic!("the probe has {:?}", self.monitor.status()));
        status.expect("the probe runs")
    }
}

/// Connects it, offers its service, and begins to probe.
pub(crate) async fn start(settings: &Settings) -> Worker {
    start_with(settings.connect().await, settings.probing).await
}

/// The same over this client.
pub(crate) async fn start_with(client: HyphaClient, probing: Probing) -> Worker {
    let work = Work::default();
    client.offer(service(&work)).await.unwrap();
    let (registrar, connection) = HyphaRegistrar::new(client.clone());
    let probe = probe(registrar).interval(probing.interval).connection(connection).build().unwrap();
    let monitor = probe.monitor();
    let mut tasks = JoinSet::new();
    if probing.is_told {
        tasks.spawn(client.report_to(probe.monitor()));
    }
    tasks.spawn(async {
        probe.run().await;
    });
    Worker { client, monitor, work, tasks }
}

/// What the worker offers.
pub(crate) fn service(work: &Work) -> LocalService {
    let work = work.clone();
    LocalService::new(SERVICE).unwrap().method("status", |_| async { Ok(Value::from("busy")) }).method(
        "work",
        move |_| {
            let work = work.clone();
            async { Ok(work.run().await) }
        },
    )
}

/// A probe in a shorter time. Its look-ups and steps have the time that a busy machine needs.
pub(crate) fn probe(registrar: HyphaRegistrar) -> RegistrationProbeBuilder<HyphaRegistrar> {
    RegistrationProbe::builder(registrar)
        .interval(INTERVAL)
        .look_up_timeout(Duration::from_secs(1))
        .rebuild_spread(SPREAD)
        .disconnect_grace(INTERVAL / 2)
        .close_timeout(Duration::from_secs(4))
        .step_timeout(Duration::from_secs(20))
}

/// What a worker without a probe might take for a sign of its registration.
pub(crate) fn echo() -> Call {
    Call::new("echo").arg("ping")
}
