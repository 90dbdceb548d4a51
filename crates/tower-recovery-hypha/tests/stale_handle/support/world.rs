//! A server, a worker of this crate, and the managers.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::Mutex, time::sleep};
use tower_recovery::Recovery;
use tower_recovery_hypha::{
    Call, CallError, HyphaClient, HyphaClientBuilder, HyphaFrontDoor, HyphaRecovery, RemoteService, ServiceId, Value,
};
use tower_recovery_test::hypha::{Behaviour, Execution, HyphaServer, PythonPeer};

use super::Watched;

/// One test's workspace on a server that the tests share while they run side by side.
pub(crate) struct World {
    server: Arc<HyphaServer>,
    name: &'static str,
    workspace: String,
    token: Option<String>,
    pub(crate) worker: HyphaClient,
    /// A workspace that nobody uses is removed.
    at_home: HyphaClient,
}

/// The last test that holds it ends it.
static SERVER: Mutex<Weak<HyphaServer>> = Mutex::const_new(Weak::new());

impl World {
    /// The worker and its managers are in a workspace of this name.
    pub(crate) async fn start(name: &'static str) -> Option<Self> {
        Self::start_with(name, |builder| builder).await
    }

    /// The same, with a say in the worker.
    pub(crate) async fn start_with(
        name: &'static str,
        worker: impl FnOnce(HyphaClientBuilder) -> HyphaClientBuilder,
    ) -> Option<Self> {
        let server = shared_server().await?;
        let workspace = format!("ws-{name}");
        let (token, worker) = enter(&server, &workspace, worker).await;
        Some(Self { server, name, workspace, token: Some(token), at_home: worker.clone(), worker })
    }

    /// The worker is in a workspace of its own, and the managers are in another one.
    pub(crate) async fn start_abroad(
        name: &'static str,
        worker: impl FnOnce(HyphaClientBuilder) -> HyphaClientBuilder,
    ) -> Option<Self> {
        let world = Self::start(name).await?;
        let worker = world.stranger(worker).await;
        Some(Self { worker, ..world })
    }

    /// The managers are in the workspace `public`, which only one test may use.
    pub(crate) async fn start_in_public(
        name: &'static str,
        worker: impl FnOnce(HyphaClientBuilder) -> HyphaClientBuilder,
    ) -> Option<Self> {
        let world = Self::start_with(name, worker).await?;
        Some(Self { workspace: "public".to_owned(), token: None, ..world })
    }

    /// All are in the workspace of root, on a server of this test's own, which it may kill.
    ///
    /// To a server that has started anew nobody has left: what is sent to a client that is not there again is told by its silence.
    pub(crate) async fn start_alone(name: &'static str) -> Option<Self> {
        let server = Arc::new(HyphaServer::start().await?);
        let builder = HyphaClient::builder(server.url()).token(server.token());
        let worker = builder.reconnect_pause(Duration::from_millis(50), Duration::from_millis(500));
        // A server that starts anew beside other work takes its time.
        let worker = worker.connection_wait(Duration::from_secs(30)).answer_timeout(Duration::from_secs(3));
        let worker = worker.connect().await.unwrap();
        let (workspace, token) = (worker.workspace().unwrap().to_string(), Some(server.token().to_owned()));
        Some(Self { server, name, workspace, token, at_home: worker.clone(), worker })
    }

    /// The server, which other tests use too unless the test is alone.
    pub(crate) fn server(&self) -> &HyphaServer {
        &self.server
    }

    /// A client of this crate that nobody knows, in a workspace of its own.
    pub(crate) async fn anonymous(&self) -> HyphaClient {
        HyphaClient::builder(self.server.url()).connect().await.unwrap()
    }

    /// A client of this crate in the managers' workspace.
    pub(crate) fn at_home(&self) -> &HyphaClient {
        &self.at_home
    }

    /// A client of this crate of the same user in another workspace.
    pub(crate) async fn stranger(&self, worker: impl FnOnce(HyphaClientBuilder) -> HyphaClientBuilder) -> HyphaClient {
        enter(&self.server, &format!("ws-{}-stranger", self.name), worker).await.1
    }

    /// A Python client in the managers' workspace.
    pub(crate) async fn peer(&self, name: &str) -> PythonPeer {
        let client_id = format!("{}-{name}", self.name);
        let builder = self.server.peer_builder(&client_id).workspace(&self.workspace);
        let builder = match &self.token {
            Some(token) => builder.token(token),
            None => builder,
        };
        builder.start().await.unwrap()
    }

    /// A manager, registered.
    pub(crate) async fn manager(&self, name: &str) -> PythonPeer {
        let peer = self.peer(name).await;
        peer.register_artifact_manager().await.unwrap();
        peer
    }

    /// The bare name of the managers' service.
    pub(crate) fn service(&self) -> ServiceId {
        format!("{}/artifact-manager", self.workspace).parse().unwrap()
    }

    /// The recommended stack.
    pub(crate) fn recovery(&self, watched: &Watched) -> HyphaRecovery {
        Recovery::hypha(&self.worker, self.service()).artifact_manager().observer(watched.clone())
    }

    /// A handle as the worker of the incident had it: resolved once, and kept.
    pub(crate) async fn kept_handle(&self) -> RemoteService {
        self.worker.find(&self.service()).await.unwrap()
    }

    /// What the registry calls a manager's client.
    pub(crate) fn identity(&self, peer: &PythonPeer) -> String {
        format!("{}/{}", self.workspace, peer.client_id())
    }

    /// Kills a manager of the worker's own workspace, and returns when the worker was told so: from then on, calls for it are refused. The server forgets its services before that, so
    /// a call that is sent in between may hear first that it has gone, which is no refusal.
    pub(crate) async fn kill(&self, manager: &PythonPeer) {
        manager.behave("discard", Behaviour::hang_before()).await.unwrap();
        let id = format!("{}:artifact-manager", self.identity(manager)).parse().unwrap();
        let waiting = self.worker.find(&id).await.unwrap().call_method(Call::new("discard").arg("nothing"));
        let (told, ()) = tokio::join!(waiting, async {
            self.wait_until_received("discard", 1).await;
            manager.kill();
        });
        assert!(matches!(told, Err(CallError::PeerDisconnected { .. })), "{told:?}");
    }

    /// Waits until the server has forgotten the service of a manager that has gone.
    pub(crate) async fn wait_until_gone(&self, peer: &PythonPeer) {
        self.wait_until_forgotten("artifact-manager", &self.identity(peer)).await;
    }

    /// Waits until the server does not name this client for this service any more.
    pub(crate) async fn wait_until_forgotten(&self, service: &str, identity: &str) {
        let id = format!("{}/{service}", self.workspace).parse().unwrap();
        while self.worker.list(&id).await.unwrap().iter().any(|info| *info.peer == *identity) {
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// What this test's managers have executed.
    pub(crate) fn executed(&self) -> Vec<Execution> {
        self.own(self.server.ledger())
    }

    /// What one of them has executed.
    pub(crate) fn executed_by(&self, peer: &PythonPeer) -> Vec<Execution> {
        self.executed().into_iter().filter(|one| one.client_id == peer.client_id()).collect()
    }

    /// Waits until this test's managers have received this method so often.
    pub(crate) async fn wait_until_received(&self, method: &str, times: usize) {
        while self.own(self.server.received()).iter().filter(|one| one.method == method).count() < times {
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until one of them has executed so much.
    pub(crate) async fn wait_until_executed_by(&self, peer: &PythonPeer, times: usize) {
        while self.executed_by(peer).len() < times {
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) fn views(&self, artifact_id: &str) -> usize {
        self.server.views(artifact_id)
    }

    fn own(&self, ledger: Vec<Execution>) -> Vec<Execution> {
        let prefix = format!("{}-", self.name);
        ledger.into_iter().filter(|one| one.client_id.starts_with(&prefix)).collect()
    }
}

async fn shared_server() -> Option<Arc<HyphaServer>> {
    let mut shared = SERVER.lock().await;
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(HyphaServer::start().await?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// A client in this workspace, which root makes, and its token.
async fn enter(
    server: &HyphaServer,
    workspace: &str,
    worker: impl FnOnce(HyphaClientBuilder) -> HyphaClientBuilder,
) -> (String, HyphaClient) {
    let root = HyphaClient::builder(server.url()).token(server.token()).connect().await.unwrap();
    let map = |entries: &[(&str, &str)]| {
        Value::Map(entries.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
    };
    let named = map(&[("id", workspace), ("name", workspace)]);
    root.manager(Call::new("create_workspace").arg(named)).await.unwrap();
    let token = root.manager(Call::new("generate_token").arg(map(&[("workspace", workspace)]))).await.unwrap();
    let token = token.as_str().unwrap().to_owned();
    let builder = HyphaClient::builder(server.url()).token(token.as_str()).workspace(workspace);
    // Root stays until the client is there: a workspace that nobody uses is removed.
    let client = worker(builder).connect().await.unwrap();
    root.close().await;
    (token, client)
}
