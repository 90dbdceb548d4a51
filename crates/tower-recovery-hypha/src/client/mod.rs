//! [`HyphaClient`]: one client of a Hypha server, connected for as long as it is wanted.

mod builder;
mod calling;
mod future;
mod openers;
mod settings;
mod shared;
mod upload;

use std::{
    fmt,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use rmpv::Value;
use tokio::{sync::watch, task::AbortHandle, time::Instant};
use tower_service::Service;

pub use self::{
    builder::{BuildError, HyphaClientBuilder, StartError},
    future::CallFuture,
};
pub(crate) use self::{
    calling::call,
    settings::Settings,
    shared::{Lane, Outbox, Request, Shared},
    upload::{CHUNK, SLACK, answer},
};
use crate::{
    Call, CallError, ConnectError, ConnectionStatus, LocalService,
    calls::Target,
    connection::{Tokens, Wanted, supervise},
    manager,
};

/// A client of a Hypha server, over one websocket. All clones are one client.
///
/// It connects again by itself when the connection is lost, registers what it offers again, and keeps the token for coming back fresh. What was sent over a lost connection fails at once, as maybe sent; what was
/// not sent waits for the next one, [for a while](HyphaClientBuilder::connection_wait).
///
/// It ends, and its connection with it, when the last of its clones is dropped. [Handles](crate::RemoteService), stacks and [registrars](crate::HyphaRegistrar) hold one; a method that it offers must not, see
/// [`downgrade`](Self::downgrade).
///
/// As a tower service it calls whatever a [`PeerCall`] names. Its use in a stack is as what [resolves](crate::HyphaResolver) names to [handles](crate::RemoteService).
///
/// # Examples
///
/// ```no_run
/// use tower_recovery_hypha::{Call, HyphaClient};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let client = HyphaClient::builder("https://hypha.example").token("a token").connect().await?;
/// let manager = client.find(&"public/artifact-manager".parse()?).await?;
/// let artifact = manager.call_method(Call::new("read").arg("public/my-artifact")).await?;
/// println!("{artifact}");
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// # Readiness
///
/// It is always ready: a call waits for its place in its future, since only there it is known for which connection it waits.
///
/// # Cancel safety
///
/// A call that is dropped is forgotten: its request is not sent if it was not sent yet, and an answer finds nobody. Hypha has no word for taking a call back, so a callee that has the request goes on.
///
/// # Errors
///
/// [`CallError`] says where it arose.
#[derive(Clone)]
pub struct HyphaClient {
    owner: Arc<Owner>,
}

/// A client that does not keep its connection: see [`HyphaClient::downgrade`].
#[derive(Clone)]
pub struct WeakHyphaClient {
    owner: Weak<Owner>,
}

impl WeakHyphaClient {
    /// The client, if somebody still holds it.
    #[must_use]
    pub fn upgrade(&self) -> Option<HyphaClient> {
        self.owner.upgrade().map(|owner| HyphaClient { owner })
    }
}

impl fmt::Debug for WeakHyphaClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WeakHyphaClient").field("is_held", &(self.owner.strong_count() > 0)).finish()
    }
}

/// What ends with the last clone.
struct Owner {
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The socket is dropped with it.
        self.task.abort();
        self.shared.services.stop();
    }
}

/// A call of a method of a client's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PeerCall {
    /// Whom it is for: `workspace/client`.
    pub peer: Arc<str>,
    /// Which of its services: the name alone.
    pub service: Arc<str>,
    /// What is called.
    pub call: Call,
}

impl PeerCall {
    /// A call of a method of this service of this client, `workspace/client`.
    pub fn new(peer: impl Into<Arc<str>>, service: impl Into<Arc<str>>, call: Call) -> Self {
        Self { peer: peer.into(), service: service.into(), call }
    }
}

impl HyphaClient {
    /// A client of the server at this URL: `https://hypha.example`, or that of its websocket.
    pub fn builder(server_url: impl Into<String>) -> HyphaClientBuilder {
        HyphaClientBuilder::new(server_url)
    }

    fn start(settings: Settings, tokens: Tokens) -> Self {
        let (shared, outbox) = Shared::new(settings, tokens);
        let task = tokio::spawn(supervise(Arc::clone(&shared), outbox)).abort_handle();
        Self { owner: Arc::new(Owner { shared, task }) }
    }

    /// A client of the same user in the same workspace, under an id of its own, closed. `None` for an anonymous one: no other client is its user.
    pub(crate) fn under_another_id(&self) -> Option<Self> {
        let shared = self.shared();
        let token = shared.tokens.given()?;
        let settings = Settings {
            client_id: builder::random_client_id(),
            workspace: shared
                .workspace()
                .map(|workspace| (*workspace).into())
                .or_else(|| shared.settings.workspace.clone()),
            ..shared.settings.clone()
        };
        Some(Self::start(settings, Tokens::new(Some(token))))
    }

    /// Connects, if the client is closed, and stays connected from then on. If it is open already, waits for the connection.
    ///
    /// # Errors
    ///
    /// Why the next try failed, or that the client was closed meanwhile. A client that was closed when this began is closed again, by the last of those who open it at one time; one that was open goes on trying.
    ///
    /// # Cancel safety
    ///
    /// The client goes on connecting.
    pub async fn open(&self) -> Result<(), Arc<ConnectError>> {
        let shared = self.shared();
        let mut opener = shared.openers.enter(shared.wanted.send_if_modified(Wanted::open));
        let outcome = shared.connected_or_failed().await;
        if opener.leave(outcome.is_ok()) {
            let calls_wait = shared.wanted.borrow().calls_wait;
            shared.close(calls_wait).await;
        }
        outcome
    }

    /// Closes the connection, and connects no more, unless somebody opens the client again meanwhile. Calls that wait for answers end as maybe sent, so wait for yours before. The server has 3 s to say that it is closed, too.
    ///
    /// # Cancel safety
    ///
    /// The client goes on closing.
    pub async fn close(&self) {
        self.shared().close(false).await;
    }

    /// The client for those who must not keep it: above all the methods of a [`LocalService`] of its own that make calls. The client holds them, so one that held the client in turn would keep it, and its
    /// connection, for ever.
    #[must_use]
    pub fn downgrade(&self) -> WeakHyphaClient {
        WeakHyphaClient { owner: Arc::downgrade(&self.owner) }
    }

    /// How the connection is, and a way to wait for changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ConnectionStatus> {
        self.shared().status.subscribe()
    }

    /// Who this client is to others: `workspace/client`. Before the first connection the workspace is not known, and left out.
    #[must_use]
    pub fn id(&self) -> Arc<str> {
        self.shared().own_id()
    }

    /// The workspace of the client, once it has connected.
    #[must_use]
    pub fn workspace(&self) -> Option<Arc<str>> {
        self.shared().workspace()
    }

    /// When anything came from the server last.
    #[must_use]
    pub fn last_heard(&self) -> Instant {
        self.shared().heard.last()
    }

    /// How many frames came that could not be read. They are logged and left out.
    #[must_use]
    pub fn malformed_frames(&self) -> u64 {
        self.shared().malformed.number()
    }

    /// Offers a service, and registers it; in the place of one of the same name, if there is one. It is registered again over every connection that follows.
    ///
    /// # Errors
    ///
    /// The registry refused it, or did not answer. The service is not offered then; but where the answer was lost, the registry may name it until this client's connection ends.
    ///
    /// # Cancel safety
    ///
    /// As where the answer was lost.
    pub async fn offer(&self, service: LocalService) -> Result<(), CallError> {
        let shared = self.shared();
        let offer = shared.services.offers.begin(service);
        loop {
            let mark = shared.services.nonce();
            manager::register(shared, offer.service(), Lane::Rest).await?;
            // Over another connection than the one that it was for it would bear the wrong mark, and be taken for what is left of that one.
            if shared.services.nonce() == mark {
                break;
            }
        }
        offer.confirm();
        Ok(())
    }

    /// Takes an offered service back.
    ///
    /// # Errors
    ///
    /// The registry refused, or did not answer. The service is not offered any more in any case.
    ///
    /// # Cancel safety
    ///
    /// The service is not offered any more once this was polled; the registry may name it on.
    pub async fn withdraw(&self, service: &str) -> Result<(), CallError> {
        let shared = self.shared();
        shared.services.offers.withdraw(service);
        let id = format!("{}:{service}", shared.own_id());
        match manager::unregister(shared, &id).await {
            // A connection that was lost, or a registry that forgets, was there before us.
            Err(CallError::ServiceNotFound { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    /// Calls a method of the server's workspace manager, such as `list_services`.
    ///
    /// # Errors
    ///
    /// [`CallError`], which says where it arose.
    ///
    /// # Cancel safety
    ///
    /// That of the [client](Self).
    pub fn manager(&self, call: Call) -> CallFuture {
        CallFuture::new(self.clone(), Target::Manager, Arc::from("default"), call, None)
    }

    pub(crate) fn peer_call(&self, call: PeerCall, wait: Option<std::time::Duration>) -> CallFuture {
        let PeerCall { peer, service, call } = call;
        CallFuture::new(self.clone(), Target::Peer(peer), service, call, wait)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.owner.shared
    }
}

impl Service<PeerCall> for HyphaClient {
    type Response = Value;
    type Error = CallError;
    type Future = CallFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: PeerCall) -> CallFuture {
        self.peer_call(call, None)
    }
}

impl fmt::Debug for HyphaClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HyphaClient")
            .field("id", &self.id())
            .field("status", &*self.shared().status.borrow())
            .finish_non_exhaustive()
    }
}
