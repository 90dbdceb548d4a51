//! What the clones of a client, its connection and its services have in common.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rmpv::Value;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, timeout},
};

use super::{openers::Openers, settings::Settings};
use crate::{
    CallError, ConnectError, ConnectionStatus,
    calls::{Calls, Patience, Target, Ticket},
    connection::{Admission, Heard, Milestones, Outgoing, Tokens, Wanted},
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
    pub(crate) milestones: watch::Sender<Milestones>,
    /// What its user wants of it.
    pub(crate) wanted: watch::Sender<Wanted>,
    pub(crate) openers: Openers,
    /// How often the server said that a service of this client was taken out of the registry.
    pub(crate) removals: watch::Sender<u64>,
    /// The server said that it has closed its end of the connection, over the connection.
    pub(crate) own_connection_closed: Notify,
    lanes: Lanes,
    /// `workspace/client`, from the first time that the server let the client in; it never changes.
    own_id: OnceLock<Arc<str>>,
    session: Mutex<Option<Session>>,
}

/// What waits for its place on the connection.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// What is due at once and is short, and what has to be said first over a new connection.
    urgent: mpsc::Sender<Outgoing>,
    /// Requests and their answers, each at most as long as a piece of a long message. It stands still until what has to be said first is said.
    rest: mpsc::Sender<Outgoing>,
}

/// Where a message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Urgent,
    Rest,
}

/// The other end of the lanes.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) urgent: mpsc::Receiver<Outgoing>,
    pub(crate) rest: mpsc::Receiver<Outgoing>,
}

/// What is known of the server at the other end.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// `*/id`.
    pub(crate) manager: Arc<str>,
    pub(crate) base_url: Option<Arc<str>>,
}

/// What is sent for an open call.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) lane: Lane,
    pub(crate) to: Target,
    pub(crate) method: Arc<str>,
    /// Arguments and what belongs to them, encoded.
    pub(crate) body: Vec<u8>,
}

/// How many frames could not be read.
#[derive(Debug, Default)]
pub(crate) struct Malformed(AtomicU64);

impl Malformed {
    /// Counts one more, and returns which it is.
    pub(crate) fn count(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// How many messages each lane holds.
    const PLACES: usize = 256;

    pub(crate) fn new(settings: Settings, tokens: Tokens) -> (Arc<Self>, Outbox) {
        let ((urgent, urgent_out), (rest, rest_out)) = (mpsc::channel(Self::PLACES), mpsc::channel(Self::PLACES));
        let outbox = Outbox { urgent: urgent_out, rest: rest_out };
        let limits = settings.limits;
        let shared = Self {
            settings,
            tokens,
            calls: Arc::new(Calls::new()),
            services: Services::new(limits),
            heard: Heard::new(),
            malformed: Malformed::default(),
            status: watch::Sender::new(ConnectionStatus::Closed),
            milestones: watch::Sender::new(Milestones::default()),
            wanted: watch::Sender::new(Wanted::default()),
            openers: Openers::default(),
            removals: watch::Sender::new(0),
            own_connection_closed: Notify::new(),
            lanes: Lanes { urgent, rest },
            own_id: OnceLock::new(),
            session: Mutex::default(),
        };
        (Arc::new(shared), outbox)
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
    pub(crate) async fn send(&self, to: Target, method: impl Into<Arc<str>>, body: Vec<u8>) {
        // The receiver lives as long as the client.
        let _ = self.lanes.rest.send(Outgoing { session: None, to, method: method.into(), body }).await;
    }

    /// Sends what is due at once, or not at all where too much of that waits: then the connection stands still.
    pub(crate) fn send_now(&self, to: Target, method: impl Into<Arc<str>>, args: &[Value]) {
        let body = encode_body(&Body { args, ..Body::default() });
        let _ = self.lanes.urgent.try_send(Outgoing { session: None, to, method: method.into(), body });
    }

    /// Sends the request of an open call, and waits for its outcome.
    pub(crate) async fn exchange(
        &self,
        ticket: &mut Ticket,
        request: Request,
        patience: Patience,
    ) -> Result<Value, CallError> {
        let began = Instant::now();
        let Request { lane, to, method, body } = request;
        let outgoing = Outgoing { session: Some(ticket.session().into()), to, method, body };
        self.check_open()?;
        let lane = match lane {
            Lane::Urgent => &self.lanes.urgent,
            Lane::Rest => &self.lanes.rest,
        };
        let send = async {
            // The receiver lives as long as the client.
            let _ = lane.send(outgoing).await;
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
            ConnectionStatus::Closed | ConnectionStatus::Closing if !self.wanted.borrow().calls_wait => {
                Err(CallError::Closed)
            }
            ConnectionStatus::Refused(error) => Err(CallError::Refused(Arc::clone(error))),
            _ => Ok(()),
        }
    }

    /// Where the workspace manager is, once there is a connection.
    pub(crate) async fn manager(&self, patience: Patience) -> Result<Arc<str>, CallError> {
        self.check_open()?;
        let mut status = self.status.subscribe();
        let connected = status.wait_for(|status| status.is_connected() || self.session().is_some());
        match timeout(patience.connection, connected).await {
            Ok(_) => self.session().map(|session| session.manager).ok_or_else(|| self.not_connected(patience)),
            Err(_elapsed) => Err(self.not_connected(patience)),
        }
    }

    pub(crate) fn not_connected(&self, patience: Patience) -> CallError {
        let last = match &*self.status.borrow() {
            ConnectionStatus::Connecting { last, .. } => last.clone(),
            _ => None,
        };
        CallError::NotConnected { waited: patience.connection, last }
    }

    /// Waits until the connection is there, or the next try fails, or it is not wanted any more.
    pub(crate) async fn connected_or_failed(&self) -> Result<(), Arc<ConnectError>> {
        let (mut status, mut milestones, mut wanted) =
            (self.status.subscribe(), self.milestones.subscribe(), self.wanted.subscribe());
        let before = milestones.borrow_and_update().failures;
        loop {
            let Wanted { is_open, closings, .. } = *wanted.borrow_and_update();
            if !is_open {
                return Err(Arc::new(ConnectError::Closed));
            }
            let milestone = milestones.borrow_and_update().clone();
            // One that is about to be closed is not the one that was asked for.
            if milestone.closings == closings && status.borrow_and_update().is_connected() {
                return Ok(());
            }
            if milestone.failures > before {
                return Err(milestone.last_failure.unwrap_or_else(|| Arc::new(ConnectError::Closed)));
            }
            // None of the senders is dropped before this is.
            tokio::select! {
                _ = status.changed() => {}
                _ = milestones.changed() => {}
                _ = wanted.changed() => {}
            }
        }
    }

    /// Closes the connection, and waits until it is closed.
    pub(crate) fn close(&self, calls_wait: bool) -> impl Future<Output = ()> + Send + use<> {
        self.wanted.send_modify(|wanted| wanted.close(calls_wait));
        let asked_for = self.wanted.borrow().closings;
        let mut milestones = self.milestones.subscribe();
        async move {
            // An error: the client has gone, and its connection with it.
            let _ = milestones.wait_for(|milestones| milestones.closings >= asked_for).await;
        }
    }

    /// How far a failed try changes what calls may hope for.
    pub(crate) fn connecting_failed(&self, failures: u32, error: &Arc<ConnectError>) {
        let is_permanent = error.is_permanent();
        // The status first: a call that begins later sees it, and one that began before is in the table.
        self.status.send_replace(match is_permanent {
            true => ConnectionStatus::Refused(Arc::clone(error)),
            false => ConnectionStatus::Connecting { failures, last: Some(Arc::clone(error)) },
        });
        if is_permanent {
            self.calls.give_up_unsent(|| CallError::Refused(Arc::clone(error)));
        }
        self.milestones.send_modify(|milestones| {
            milestones.failures += 1;
            milestones.last_failure = Some(Arc::clone(error));
        });
    }

    /// It is closed, as often as that was asked for.
    pub(crate) fn was_closed(&self, closings: u64, calls_wait: bool) {
        self.tokens.put_last();
        // The status first: a call that begins later sees it, and one that began before is in the table.
        self.status.send_replace(ConnectionStatus::Closed);
        self.end_session(&"the client was closed".into());
        if !calls_wait {
            self.calls.give_up_unsent(|| CallError::Closed);
        }
        self.milestones.send_modify(|milestones| milestones.closings = closings);
    }

    fn lock_session(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
