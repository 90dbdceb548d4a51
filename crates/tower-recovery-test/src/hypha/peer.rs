//! A Python client in a process of its own.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmpv::Value;
use tokio::time::timeout;

use super::{
    Behaviour, HyphaServer, PythonError,
    pipe::{Pipe, map},
};
use crate::{lock::lock, process::Process};

/// Above the longest wait of the client's own, which is twice 30 s: an answer and a reconnect.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);

/// A Python process with a client of Hypha's, killed when this is dropped.
///
/// What it is told to do side by side it does side by side.
#[derive(Debug)]
pub struct PythonPeer {
    process: Mutex<Process>,
    pipe: Pipe,
    client_id: String,
    workspace: String,
}

/// A proxy of a service that a [`PythonPeer`] keeps, from [`PythonPeer::resolve`]. It is good at that peer alone.
#[derive(Debug, Clone)]
pub struct PythonHandle {
    number: u64,
    id: String,
}

impl PythonHandle {
    /// The whole id of the service.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Settings of a [`PythonPeer`], from [`HyphaServer::peer_builder`].
#[derive(Debug)]
#[must_use]
pub struct PeerBuilder<'server> {
    server: &'server HyphaServer,
    client_id: String,
    workspace: Option<String>,
    token: Option<String>,
}

impl<'server> PeerBuilder<'server> {
    pub(super) fn new(server: &'server HyphaServer, client_id: &str) -> Self {
        Self { server, client_id: client_id.to_owned(), workspace: None, token: None }
    }

    /// In this workspace, which root makes if there is none. Without a token, root gives one.
    pub fn workspace(mut self, workspace: &str) -> Self {
        self.workspace = Some(workspace.to_owned());
        self
    }

    /// With this token.
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Starts its process and connects.
    ///
    /// # Errors
    ///
    /// What the server said to the connect.
    ///
    /// # Panics
    ///
    /// If it takes longer than 90 s.
    pub async fn start(self) -> Result<PythonPeer, PythonError> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut process = self.server.spawn_peer(&format!("peer-{}-{number}.log", self.client_id));
        let pipe = Pipe::new(process.take_pipes().expect("both are piped"));
        let (client_id, workspace) = (self.client_id, String::new());
        let mut peer = PythonPeer { process: Mutex::new(process), pipe, client_id, workspace };
        let connected = peer.command("connect", peer.connection(self.workspace, self.token)).await?;
        peer.workspace = connected["workspace"].as_str().unwrap_or_default().to_owned();
        Ok(peer)
    }
}

/// What it is told.
///
/// Each of these waits at most 90 s and panics then; none fails by a [freeze](PythonPeer::freeze), but waits. The error is what Python raised, or that
/// the process ended.
impl PythonPeer {
    /// Registers a service with `echo`, `echo_all` and `write`, for everybody; returns its whole id.
    pub async fn register(&self, service_id: &str) -> Result<String, PythonError> {
        self.register_with(service_id, false, "public").await
    }

    /// The same, over one of the same id if `overwrite`, and of another visibility: `public`, `protected` or `unlisted`.
    pub async fn register_with(
        &self,
        service_id: &str,
        overwrite: bool,
        visibility: &str,
    ) -> Result<String, PythonError> {
        let arguments = [
            ("service_id", Value::from(service_id)),
            ("overwrite", Value::from(overwrite)),
            ("visibility", Value::from(visibility)),
        ];
        self.command("register", arguments).await.map(text)
    }

    /// Registers the artifact manager; returns its whole id.
    pub async fn register_artifact_manager(&self) -> Result<String, PythonError> {
        self.command("register_artifact_manager", []).await.map(text)
    }

    /// Resolves a service, exactly as the server does it without a mode, and calls a method of it.
    pub async fn call<'key>(
        &self,
        service: &str,
        method: &str,
        arguments: impl IntoIterator<Item = Value>,
        keywords: impl IntoIterator<Item = (&'key str, Value)>,
    ) -> Result<Value, PythonError> {
        self.call_with(service, None, method, arguments, keywords).await
    }

    /// The same, with a mode of the resolve: `random`, `first`, `last`, `exact` …
    pub async fn call_with<'key>(
        &self,
        service: &str,
        mode: Option<&str>,
        method: &str,
        arguments: impl IntoIterator<Item = Value>,
        keywords: impl IntoIterator<Item = (&'key str, Value)>,
    ) -> Result<Value, PythonError> {
        let arguments = [
            ("service", Value::from(service)),
            ("config", config(mode)),
            ("method", Value::from(method)),
            ("args", Value::Array(arguments.into_iter().collect())),
            ("kwargs", map(keywords)),
        ];
        self.command("call", arguments).await
    }

    /// Resolves a service, and keeps the proxy for [`call_handle`](Self::call_handle). The server asks the provider for it: one that is frozen is not
    /// resolved, but an error comes after 10 s.
    pub async fn resolve(&self, service: &str, mode: Option<&str>) -> Result<PythonHandle, PythonError> {
        let resolved = self.command("resolve", [("service", Value::from(service)), ("config", config(mode))]).await?;
        let number = resolved["number"].as_u64().unwrap_or_default();
        Ok(PythonHandle { number, id: text(resolved["id"].clone()) })
    }

    /// Calls a method by a proxy that was resolved before, which is bound to one client of the provider's.
    pub async fn call_handle<'key>(
        &self,
        handle: &PythonHandle,
        method: &str,
        arguments: impl IntoIterator<Item = Value>,
        keywords: impl IntoIterator<Item = (&'key str, Value)>,
    ) -> Result<Value, PythonError> {
        let arguments = [
            ("handle", Value::from(handle.number)),
            ("method", Value::from(method)),
            ("args", Value::Array(arguments.into_iter().collect())),
            ("kwargs", map(keywords)),
        ];
        self.command("call_handle", arguments).await
    }

    /// Calls a method of the workspace manager, such as `generate_token`. Entries that are no plain values come as text.
    pub async fn manager<'key>(
        &self,
        method: &str,
        arguments: impl IntoIterator<Item = Value>,
        keywords: impl IntoIterator<Item = (&'key str, Value)>,
    ) -> Result<Value, PythonError> {
        let arguments = [
            ("method", Value::from(method)),
            ("args", Value::Array(arguments.into_iter().collect())),
            ("kwargs", map(keywords)),
        ];
        self.command("manager", arguments).await
    }

    /// Runs a script of the test's own: its `async def main(server, …)` is given the connection of `hypha-rpc` and these arguments, and what it returns
    /// comes back. What it registers or starts stays. What is no plain value comes as text.
    pub async fn run<'key>(
        &self,
        script: &str,
        arguments: impl IntoIterator<Item = (&'key str, Value)>,
    ) -> Result<Value, PythonError> {
        self.command("run", [("script", Value::from(script)), ("arguments", map(arguments))]).await
    }

    /// Makes the server forget a service, also another client's, which is not told.
    pub async fn unregister_service(&self, service: &str) -> Result<(), PythonError> {
        self.manager("unregister_service", [Value::from(service)], []).await.map(drop)
    }

    /// The whole ids of the services of its workspace.
    pub async fn list_services(&self) -> Result<Vec<String>, PythonError> {
        let services = self.manager("list_services", [], []).await?;
        let services = services.as_array().into_iter().flatten();
        Ok(services.map(|service| text(service["id"].clone())).collect())
    }

    /// A token for a workspace, from root.
    pub async fn generate_token(&self, workspace: &str) -> Result<String, PythonError> {
        self.manager("generate_token", [map([("workspace", Value::from(workspace))])], []).await.map(text)
    }

    /// Connects once more under this id, and leaves again: what the server says to a client that is there twice.
    pub async fn try_connect(&self, client_id: &str) -> Result<(), PythonError> {
        self.command("try_connect", [("client_id", Value::from(client_id))]).await.map(drop)
    }

    /// What a method of its services does from now on.
    pub async fn behave(&self, method: &str, behaviour: Behaviour) -> Result<(), PythonError> {
        self.command("behave", [("method", Value::from(method)), ("behaviour", behaviour.value())]).await.map(drop)
    }

    /// Leaves in order, by which the server forgets its services. The process stays.
    pub async fn disconnect(&self) -> Result<(), PythonError> {
        self.command("disconnect", []).await.map(drop)
    }

    /// Connects after [`disconnect`](Self::disconnect), under its id in its workspace, where root gives the token. Services are to be registered again.
    pub async fn connect(&self) -> Result<(), PythonError> {
        // The workspace of root is named by nobody: there, root's own token is good.
        let workspace = (self.workspace != "ws-user-root").then(|| self.workspace.clone());
        self.command("connect", self.connection(workspace, None)).await.map(drop)
    }
}

/// Its process.
impl PythonPeer {
    /// Under which id it is connected.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Where it is connected.
    #[must_use]
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Its process's number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        lock(&self.process).id()
    }

    /// Kills it, as a crash would.
    pub fn kill(&self) {
        lock(&self.process).kill();
    }

    /// Stops it as it stands: its connection stays open, and nobody reads from it.
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn freeze(&self) {
        lock(&self.process).freeze();
    }

    /// Lets it go on: it executes what it has received meanwhile.
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn thaw(&self) {
        lock(&self.process).thaw();
    }

    async fn command(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<Value, PythonError> {
        let answer = timeout(ANSWER_WITHIN, self.pipe.command(name, arguments)).await;
        let answer =
            answer.unwrap_or_else(|_| panic!("{} did not answer to {name} within {ANSWER_WITHIN:?}", self.client_id));
        answer.unwrap_or(Err(PythonError::Ended))
    }

    fn connection(&self, workspace: Option<String>, token: Option<String>) -> BTreeMap<&'static str, Value> {
        let optional = |text: Option<String>| text.map_or(Value::Nil, Value::from);
        let client_id = Value::from(self.client_id.as_str());
        [("client_id", client_id), ("workspace", optional(workspace)), ("token", optional(token))].into()
    }
}

fn config(mode: Option<&str>) -> Value {
    mode.map_or(Value::Nil, |mode| map([("mode", Value::from(mode))]))
}

fn text(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
