//! The calls that wait for their answers: who may answer which, and what an answer means.
//!
//! The lock is held for a look into the table alone: never across an await, nor while a caller is woken.

mod rejection;
mod ticket;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmpv::Value;
use tokio::{sync::oneshot, time::Instant};

pub(crate) use self::ticket::{Patience, Ticket};
use crate::{
    CallError,
    secret::secret_name,
    wire::{MalformedFrame, Relayed},
};

/// What a call comes to.
pub(crate) type Outcome = Result<Value, CallError>;

/// Whom a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The workspace manager of the server at the other end, whatever its id is by then.
    Manager,
    /// A client: `workspace/client`.
    Peer(Arc<str>),
}

/// All calls of one client.
#[derive(Debug)]
pub(crate) struct Calls {
    open: Mutex<HashMap<Box<str>, OpenCall>>,
    began: Instant,
}

#[derive(Debug)]
struct OpenCall {
    method: Arc<str>,
    is_of_manager: bool,
    /// The call whose request is told of by this one's: it is handed over with it.
    tells_of: Option<Box<str>>,
    /// Whom the transport was told to bring it to; `None` until then.
    sent_to: Option<Arc<str>>,
    progress: Arc<Progress>,
    outcome: oneshot::Sender<Outcome>,
}

/// What a rejection was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// A call that nobody waits for.
    Nothing,
    /// A call.
    Call,
    /// A call, because the server has closed its end of the connection that brought it.
    ByOwnConnection,
}

/// How far a call is.
#[derive(Debug)]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    const NOT_HANDED_OVER: u64 = u64::MAX;

    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(Self::NOT_HANDED_OVER)))
    }

    /// How long after the table's beginning the last sign of life came: the handing over, a heartbeat, a piece of the answer. `None` before the request was handed over.
    fn last_sign(&self) -> Option<Duration> {
        match self.0.load(Ordering::Acquire) {
            Self::NOT_HANDED_OVER => None,
            millis => Some(Duration::from_millis(millis)),
        }
    }
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self { open: Mutex::default(), began: Instant::now() }
    }

    /// Opens a call, under a session id that nobody can guess.
    pub(crate) fn open(self: &Arc<Self>, target: &Target, method: Arc<str>) -> Ticket {
        self.open_telling(target, method, None)
    }

    /// Opens the call that tells the callee to act on another one, whose request it has by then.
    pub(crate) fn open_for(self: &Arc<Self>, target: &Target, method: Arc<str>, other: &Ticket) -> Ticket {
        self.open_telling(target, method, Some(other.session.clone()))
    }

    fn open_telling(self: &Arc<Self>, target: &Target, method: Arc<str>, tells_of: Option<Box<str>>) -> Ticket {
        let session: Box<str> = secret_name();
        let (sender, outcome) = oneshot::channel();
        let progress = Progress::new();
        let call = OpenCall {
            method,
            is_of_manager: *target == Target::Manager,
            tells_of,
            sent_to: None,
            progress: Arc::clone(&progress),
            outcome: sender,
        };
        self.table().insert(session.clone(), call);
        Ticket { calls: Arc::clone(self), session, progress, outcome }
    }

    /// The request is given to the transport in this moment, for this client; whatever happens from now on, it may have been sent. False: nobody waits for it any more, and it is not to be sent.
    pub(crate) fn hand_over(&self, session: &str, to: &Arc<str>) -> bool {
        let now = self.now();
        let mut table = self.table();
        let Some(call) = table.get(session) else { return false };
        let told_of = call.tells_of.clone();
        if told_of.as_deref().is_some_and(|other| !table.contains_key(other)) {
            return false;
        }
        for session in [Some(session), told_of.as_deref()].into_iter().flatten() {
            if let Some(call) = table.get_mut(session) {
                call.sent_to = Some(Arc::clone(to));
                call.progress.0.store(now, Ordering::Release);
            }
        }
        true
    }

    /// The callee, or the server that speaks for it, still works on the call, or still sends its answer.
    pub(crate) fn sign_of_life(&self, session: &str, from: &str) -> bool {
        let table = self.table();
        let call = table.get(session).filter(|call| call.is_answered_by(from));
        if let Some(call) = call {
            call.progress.0.store(self.now(), Ordering::Release);
        }
        call.is_some()
    }

    /// The method returned this.
    pub(crate) fn resolve(&self, session: &str, from: &str, value: Value) -> bool {
        self.end(session, from, |_| Ok(value))
    }

    /// The call was turned down, by the callee or, if nobody relayed it, by the server's routing.
    pub(crate) fn reject(
        &self,
        session: &str,
        from: &str,
        reason: &Value,
        relayed: Option<&Relayed>,
        own: &Arc<str>,
    ) -> Rejected {
        let mut is_of_own_connection = false;
        let found = self.end(session, from, |call| {
            let error = match relayed {
                None => call.turned_down_by_routing(reason, own),
                Some(_) => call.turned_down_by_callee(reason, own),
            };
            is_of_own_connection = matches!(error, CallError::OwnConnectionClosed { .. });
            Err(error)
        });
        match found {
            true if is_of_own_connection => Rejected::ByOwnConnection,
            true => Rejected::Call,
            false => Rejected::Nothing,
        }
    }

    /// What came as the answer of this call cannot be read.
    pub(crate) fn malformed(&self, session: &str, from: &str, error: MalformedFrame) -> bool {
        self.end(session, from, |_| Err(CallError::MalformedAnswer(error)))
    }

    /// Ends the calls that wait for this client's answer: its connection to the server has ended.
    pub(crate) fn peer_disconnected(&self, peer: &str) {
        let of_the_peer = |call: &OpenCall| call.is_answered_by(peer);
        self.end_all(of_the_peer, |call| CallError::PeerDisconnected {
            peer: call.sent_to.clone().unwrap_or_else(|| peer.into()),
        });
    }

    /// Ends what was sent: the connection on which the answers would have come is gone.
    pub(crate) fn connection_lost(&self, reason: &Arc<str>) {
        self.end_all(|call| call.sent_to.is_some(), |_| CallError::ConnectionLost { reason: Arc::clone(reason) });
    }

    /// Ends what was not sent: it will not be.
    pub(crate) fn give_up_unsent(&self, error: impl Fn() -> CallError) {
        self.end_all(|call| call.sent_to.is_none(), |_| error());
    }

    fn end(&self, session: &str, from: &str, outcome: impl FnOnce(&OpenCall) -> Outcome) -> bool {
        let mut table = self.table();
        if !table.get(session).is_some_and(|call| call.is_answered_by(from)) {
            return false;
        }
        let Some(call) = table.remove(session) else { return false };
        drop(table);
        let outcome = outcome(&call);
        // Fails if the caller has gone in this moment.
        let _ = call.outcome.send(outcome);
        true
    }

    fn end_all(&self, which: impl Fn(&OpenCall) -> bool, error: impl Fn(&OpenCall) -> CallError) {
        let ended: Vec<OpenCall> = self.table().extract_if(|_, call| which(call)).map(|(_, call)| call).collect();
        for call in ended {
            let error = error(&call);
            let _ = call.outcome.send(Err(error));
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(Progress::NOT_HANDED_OVER - 1)
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, OpenCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenCall {
    /// Only whom it was sent to. The server writes the sender's name into what it passes on, so it cannot be forged.
    fn is_answered_by(&self, from: &str) -> bool {
        self.sent_to.as_deref() == Some(from)
    }
}
