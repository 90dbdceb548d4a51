//! What the stack says of each call: its events, told apart by the task that they happen on.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use tower_recovery::{Observer, RecoveryEvent};

use crate::audit::till::Trade;

tokio::task_local! {
    static CALL: Arc<Mutex<OfOneCall>>;
}

/// An event, and its place among all events and beginnings of calls.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) order: u64,
    pub(crate) event: RecoveryEvent,
}

/// What was seen of one call.
#[derive(Debug, Default)]
pub(crate) struct OfOneCall {
    pub(crate) events: Vec<Seen>,
    pub(crate) trades: Vec<Trade>,
}

/// Sees the events of one client, and what it trades with its budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    order: AtomicU64,
    of_the_handles: Mutex<Vec<Seen>>,
    trades: Mutex<Vec<Trade>>,
}

impl Watch {
    /// The present moment, in the order of events.
    pub(crate) fn now(&self) -> u64 {
        self.shared.order.fetch_add(1, Ordering::SeqCst)
    }

    /// Runs a call, and gives what was seen of it beside its outcome.
    pub(crate) async fn over<Output>(&self, call: impl Future<Output = Output>) -> (Output, OfOneCall) {
        let seen = Arc::new(Mutex::default());
        let output = CALL.scope(Arc::clone(&seen), call).await;
        let seen = std::mem::take(&mut *lock(&seen));
        (output, seen)
    }

    /// A trade with the budget, of the call that is running here, if one is: answers may be paid in outside of one.
    pub(crate) fn note(&self, trade: Trade) {
        lock(&self.shared.trades).push(trade);
        let _ = CALL.try_with(|call| lock(call).trades.push(trade));
    }

    /// What became of handles, whichever call it happened in.
    pub(crate) fn of_the_handles(&self) -> Vec<Seen> {
        lock(&self.shared.of_the_handles).clone()
    }

    /// All trades with the budget, in their order.
    pub(crate) fn trades(&self) -> Vec<Trade> {
        lock(&self.shared.trades).clone()
    }
}

impl Observer for Watch {
    fn observe(&self, event: &RecoveryEvent) {
        let seen = Seen { order: self.now(), event: event.clone() };
        if is_of_a_handle(event) {
            lock(&self.shared.of_the_handles).push(seen.clone());
        }
        // Fails outside of a call, where only a handle's event may happen.
        let _ = CALL.try_with(|call| lock(call).events.push(seen));
    }
}

fn is_of_a_handle(event: &RecoveryEvent) -> bool {
    matches!(
        event,
        RecoveryEvent::HandleResolved { .. }
            | RecoveryEvent::HandleEvicted { .. }
            | RecoveryEvent::ResolveFailed { .. }
    )
}

fn lock<Notes>(notes: &Mutex<Notes>) -> MutexGuard<'_, Notes> {
    notes.lock().expect("nobody panics with it")
}
