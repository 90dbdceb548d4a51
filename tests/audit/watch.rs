//! What the stack says of each call: its events, told apart by the task that they happen on.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use tower_recovery::{Observer, RecoveryEvent};

tokio::task_local! {
    static CALL: Arc<Mutex<Vec<Seen>>>;
}

/// An event, and its place among all events and beginnings of calls.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) order: u64,
    pub(crate) event: RecoveryEvent,
}

/// Sees the events of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    order: AtomicU64,
    of_the_handles: Mutex<Vec<Seen>>,
}

impl Watch {
    /// The present moment, in the order of events.
    pub(crate) fn now(&self) -> u64 {
        self.shared.order.fetch_add(1, Ordering::SeqCst)
    }

    /// Runs a call, and gives its events beside its outcome.
    pub(crate) async fn over<Output>(&self, call: impl Future<Output = Output>) -> (Output, Vec<Seen>) {
        let events = Arc::new(Mutex::default());
        let output = CALL.scope(Arc::clone(&events), call).await;
        let events = std::mem::take(&mut *lock(&events));
        (output, events)
    }

    /// What became of handles, whichever call it happened in.
    pub(crate) fn of_the_handles(&self) -> Vec<Seen> {
        lock(&self.shared.of_the_handles).clone()
    }
}

impl Observer for Watch {
    fn observe(&self, event: &RecoveryEvent) {
        let seen = Seen { order: self.now(), event: event.clone() };
        if is_of_a_handle(event) {
            lock(&self.shared.of_the_handles).push(seen.clone());
        }
        // Fails outside of a call, where only a handle's event may happen.
        let _ = CALL.try_with(|events| lock(events).push(seen));
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

fn lock(events: &Mutex<Vec<Seen>>) -> MutexGuard<'_, Vec<Seen>> {
    events.lock().expect("nobody panics with it")
}
