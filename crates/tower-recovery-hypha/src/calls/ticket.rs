//! The caller's end of an open call.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use super::{Calls, Outcome, Progress};
use crate::CallError;

/// The caller's end of an open call. Dropping it forgets the call: an answer finds nobody, and a request that was not handed over is not sent.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(super) calls: Arc<Calls>,
    pub(super) session: Box<str>,
    pub(super) progress: Arc<Progress>,
    pub(super) outcome: oneshot::Receiver<Outcome>,
}

/// How long a call waits, for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For a connection, and a place on it.
    pub(crate) connection: Duration,
    /// For an answer, since the last sign of life.
    pub(crate) answer: Duration,
}

impl Ticket {
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Waits for the outcome. `None`: the request was not handed over in time, and will not be.
    pub(crate) async fn outcome(&mut self, began: Instant, patience: Patience) -> Option<Outcome> {
        let mut until = began + patience.connection.min(patience.answer);
        loop {
            tokio::select! {
                biased;
                outcome = &mut self.outcome => {
                    let lost = || CallError::ConnectionLost { reason: "the client ended".into() };
                    return Some(outcome.unwrap_or_else(|_| Err(lost())));
                }
                () = sleep_until(until) => {}
            }
            until = match self.progress.last_sign() {
                Some(sign) => self.calls.began + sign + patience.answer,
                None => began + patience.connection,
            };
            if Instant::now() >= until {
                match self.progress.last_sign() {
                    Some(_) => return Some(Err(CallError::TimedOut { silent: patience.answer })),
                    // It may be handed over in this moment: the table knows.
                    None if self.withdraw() => return None,
                    None => until = Instant::now() + patience.answer,
                }
            }
        }
    }

    /// Takes the request back, if the transport does not have it.
    pub(crate) fn withdraw(&self) -> bool {
        let mut table = self.calls.table();
        let is_unsent = table.get(&self.session).is_some_and(|call| call.sent_to.is_none());
        if is_unsent {
            table.remove(&self.session);
        }
        is_unsent
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let call = self.calls.table().remove(&self.session);
        drop(call);
    }
}
