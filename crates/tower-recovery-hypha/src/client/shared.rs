//! What the clones of a client, its connection and its services have in common.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rmpv::Value;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::Instant,
};

use super::settings::Settings;
use crate::{
    CallError, ConnectError, ConnectionStatus,
    calls::{Calls, Patience, Target, Ticket},
    connection::{Admission, Heard, Outgoing, Tokens},
    serving::Services,
    wire::{Body, encode_body},
};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) tokens: Tokens,
    pub(crate) calls: Arc<Calls>,
    pub(crate) services: Services,
    pub(crate) heard: Heard,
    pub(crate) malformed: Malformed,
    pub(crate) status: watch::Sender<ConnectionStatus>,
    /// Whether its user wants a connection.
    pub(crate) wanted: watch::Sender<bool>,
    /// The server said that it has closed its end of the connection, over the connection.
    pub(crate) own_connection_closed: Notify,
    outbox: mpsc::Sender<Outgoing>,
    /// `workspace/client`, from the first time that the server let the client in; it never changes.
    own_id: OnceLock<Arc<str>>,
    session: Mutex<Option<Session>>,
}

/// What is known of the server at the other end.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// `*/id`.
    pub(crate) manager: Arc<str>,
    pub(crate) base_url: Option<Arc<str>>,
}

/// How many frames could not be read.
#[derive(Debug, Default)]
pub(crate) struct Malformed(AtomicU64);

impl Malformed {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Requests and replies that wait for their place on the connection, each at most as long as a piece of a long message.
    const OUTBOX: usize = 256;

    pub(crate) fn new(settings: Settings, tokens: Tokens) -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (outbox, to_write) = mpsc::channel(Self::OUTBOX);
        let limits = settings.limits;
        let shared = Self {
            settings,
            tokens,
            calls: Arc::new(Calls::new()),
            services: Services::new(limits),
            heard: Heard::new(),
            malformed: Malformed::default(),
            status: watch::Sender::new(ConnectionStatus::Closed),
            wanted: watch::Sender::new(false),
            own_connection_closed: Notify::new(),
            outbox,
            own_id: OnceLock::new(),
            session: Mutex::default(),
        };
        (Arc::new(shared), to_write)
    }

    /// `workspace/client`; before the server has said the workspace, the client alone.
    pub(crate) fn own_id(&self) -> Arc<str> {
        self.own_id.get().map_or_else(|| (*self.settings.client_id).into(), Arc::clone)
    }

    pub(crate) fn workspace(&self) -> Option<Arc<str>> {
        self.own_id.get().and_then(|id| id.split_once('/')).map(|(workspace, _)| workspace.into())
    }

    pub(crate) fn session(&self) -> Option<Session> {
        self.lock_session().clone()
    }

    /// The server let the client in.
    pub(crate) fn begin_session(&self, admission: &Admission) {
        self.own_id.get_or_init(|| format!("{}/{}", admission.workspace, self.settings.client_id).into());
        let Admission { manager, base_url, .. } = admission;
        *self.lock_session() = Some(Session { manager: Arc::clone(manager), base_url: base_url.clone() });
    }

    /// What was sent gets no answer any more. What was not sent waits for the next connection.
    pub(crate) fn end_session(&self, reason: &Arc<str>) {
        *self.lock_session() = None;
        self.calls.connection_lost(reason);
    }

    /// Sends a message that nobody answers. It waits for its place, and for a connection.
    pub(crate) async fn send(&self, to: Target, method: impl Into<Arc<str>>, args: &[Value]) {
        let body = encode_body(&Body { args, ..Body::default() });
        // The receiver lives as long as the client.
        let _ = self.outbox.send(Outgoing { session: None, to, method: method.into(), body }).await;
    }

    /// The same where nothing can be waited for; without a place it is left out.
    pub(crate) fn try_send(&self, to: Target, method: impl Into<Arc<str>>, args: &[Value]) {
        let body = encode_body(&Body { args, ..Body::default() });
        let _ = self.outbox.try_send(Outgoing { session: None, to, method: method.into(), body });
    }

    /// Sends the request of an open call, and waits for its outcome. `session` is the ticket's, or `None` where the request is told of in another message.
    pub(crate) async fn exchange(
        &self,
        ticket: &mut Ticket,
        to: Target,
        method: Arc<str>,
        body: Vec<u8>,
        patience: Patience,
    ) -> Result<Value, CallError> {
        let began = Instant::now();
        let outgoing = Outgoing { session: Some(ticket.session().into()), to, method, body };
        self.check_open()?;
        let send = async {
            // The receiver lives as long as the client.
            let _ = self.outbox.send(outgoing).await;
            std::future::pending().await
        };
        let outcome = tokio::select! {
            biased;
            outcome = ticket.outcome(began, patience) => outcome,
            () = send => None,
        };
        outcome.unwrap_or_else(|| Err(self.not_connected(patience)))
    }

    /// Whether a call may wait for a connection at all.
    fn check_open(&self) -> Result<(), CallError> {
        match &*self.status.borrow() {
            ConnectionStatus::Closed => Err(CallError::Closed),
            ConnectionStatus::Refused(error) => Err(CallError::Refused(Arc::clone(error))),
            ConnectionStatus::Connecting { .. } | ConnectionStatus::Connected => Ok(()),
        }
    }

    fn not_connected(&self, patience: Patience) -> CallError {
        let last = match &*self.status.borrow() {
            ConnectionStatus::Connecting { last, .. } => last.clone(),
            _ => None,
        };
        CallError::NotConnected { waited: patience.connection, last }
    }

    /// Waits until the connection is there, the next try has failed, or nobody wants it any more.
    pub(crate) async fn connected_or_failed(&self) -> Result<(), Arc<ConnectError>> {
        let mut status = self.status.subscribe();
        let mut wanted = self.wanted.subscribe();
        loop {
            match &*status.borrow_and_update() {
                ConnectionStatus::Connected => return Ok(()),
                ConnectionStatus::Refused(error) | ConnectionStatus::Connecting { last: Some(error), .. } => {
                    return Err(Arc::clone(error));
                }
                ConnectionStatus::Closed | ConnectionStatus::Connecting { last: None, .. } => {}
            }
            tokio::select! {
                // The senders live as long as this.
                _ = status.changed() => {}
                _ = wanted.wait_for(|wanted| !*wanted) => return Err(Arc::new(ConnectError::Closed)),
            }
        }
    }

    fn lock_session(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
