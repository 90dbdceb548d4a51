//! The server and the Python processes that all tests share.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::Mutex, time::timeout};
use tower_recovery_hypha::{
    Call, ConnectError, HyphaClient, HyphaClientBuilder, LocalService, RemoteService, StartError, Value, Visibility,
};
use tower_recovery_test::hypha::{HyphaServer, PythonPeer};

const TEST_WITHIN: Duration = Duration::from_secs(60);

/// Ends with the test that holds it last.
pub(crate) struct Hypha {
    pub(crate) server: HyphaServer,
    /// Has the service `probe`, see `probe.py`.
    _provider: PythonPeer,
    pub(crate) user: PythonPeer,
}

static SHARED: Mutex<Weak<Hypha>> = Mutex::const_new(Weak::new());

/// Runs a test, where there is a server to run it with.
pub(crate) async fn with_hypha(test: impl AsyncFnOnce(&Hypha)) {
    let Some(hypha) = Hypha::shared().await else { return };
    within(test(&hypha)).await;
}

pub(crate) async fn within<Output>(test: impl Future<Output = Output>) -> Output {
    timeout(TEST_WITHIN, test).await.expect("the test ends")
}

impl Hypha {
    /// The tokens for coming back live so short that a client has to ask for new ones.
    pub(crate) const RECONNECTION_TOKEN_LIFE: Duration = Duration::from_secs(3);

    async fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().await;
        if let Some(hypha) = shared.upgrade() {
            return Some(hypha);
        }
        let life = Self::RECONNECTION_TOKEN_LIFE.as_secs().to_string();
        let server = HyphaServer::builder().variable("RECONNECTION_TOKEN_LIFE_TIME", &life).start().await?;
        let (provider, user) = tokio::join!(server.peer("provider"), server.peer("user"));
        let (provider, user) = (provider.unwrap(), user.unwrap());
        provider.run(include_str!("probe.py"), []).await.unwrap();
        let hypha = Arc::new(Self { server, _provider: provider, user });
        *shared = Arc::downgrade(&hypha);
        Some(hypha)
    }

    /// A client of this id in the workspace of root.
    pub(crate) fn builder(&self, client_id: &str) -> HyphaClientBuilder {
        HyphaClient::builder(self.server.url()).token(self.server.token()).client_id(client_id)
    }

    pub(crate) async fn client(&self, client_id: &str) -> HyphaClient {
        self.builder(client_id).connect().await.unwrap()
    }

    /// A token that this client gives for a workspace, which it makes if there is none.
    pub(crate) async fn token(&self, giver: &HyphaClient, workspace: &str, config: &[(&str, Value)]) -> String {
        if giver.workspace().as_deref() != Some(workspace) {
            let workspace = map([("id", workspace.into()), ("name", workspace.into())]);
            // Fails if it is there.
            let _ = giver.manager(Call::new("create_workspace").arg(workspace)).await;
        }
        let workspace = [("workspace", Value::from(workspace))];
        let config = map(workspace.into_iter().chain(config.iter().cloned()));
        let token = giver.manager(Call::new("generate_token").arg(config)).await.unwrap();
        token.as_str().unwrap().to_owned()
    }

    /// Waits until a token of root's workspace has expired: until nobody is let in by it.
    pub(crate) async fn until_expired(&self, token: &str) {
        let connect = || HyphaClient::builder(self.server.url()).workspace("ws-user-root").token(token).connect();
        loop {
            match connect().await {
                Ok(client) => client.close().await,
                Err(StartError::Connect(error)) if matches!(*error, ConnectError::Unauthenticated { .. }) => return,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

/// The service of the Python provider.
pub(crate) async fn probe(client: &HyphaClient) -> RemoteService {
    client.find(&"ws-user-root/provider:probe".parse().unwrap()).await.unwrap()
}

/// A service for everybody, with the methods `echo` and `echo_all`.
pub(crate) fn echoing(name: &str) -> LocalService {
    LocalService::new(name)
        .unwrap()
        .visibility(Visibility::Public)
        .method("echo", |call| async move { Ok(call.argument(0, "value").cloned().unwrap_or(Value::Nil)) })
        .method("echo_all", |call| async move {
            Ok(map([("args", Value::Array(call.arguments)), ("kwargs", Value::Map(call.keywords))]))
        })
}

pub(crate) fn map<'key>(entries: impl IntoIterator<Item = (&'key str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
}

/// As MessagePack: also what is never equal to itself can be compared so, and 0.0 is another than -0.0.
pub(crate) fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).unwrap();
    bytes
}

pub(crate) fn assert_same(back: &Value, sent: &Value) {
    let is_same = encoded(back) == encoded(sent);
    assert!(is_same, "{:.200} came back as {:.200}", sent.to_string(), back.to_string());
}
