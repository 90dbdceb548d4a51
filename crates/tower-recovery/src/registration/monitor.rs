//! What others see of a probe, and what they may tell it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Notify, watch};

use super::RegistrationStatus;

/// Reads and watches the status of a [`RegistrationProbe`](super::RegistrationProbe), and tells it what others have noticed. Clones see the same probe.
#[derive(Clone, Debug)]
pub struct RegistrationMonitor {
    status: watch::Receiver<RegistrationStatus>,
    signals: Arc<Signals>,
}

/// What was noticed since the probe looked last. However often it was: the probe wakes once.
#[derive(Debug, Default)]
pub(super) struct Signals {
    disconnected: AtomicBool,
    evicted: AtomicBool,
    wake: Notify,
}

impl RegistrationMonitor {
    pub(super) fn new(status: watch::Receiver<RegistrationStatus>, signals: Arc<Signals>) -> Self {
        Self { status, signals }
    }

    /// What is known now. What the probe knew last, if it is gone.
    #[must_use]
    pub fn status(&self) -> RegistrationStatus {
        self.status.borrow().clone()
    }

    /// Waits for a change that this clone has not seen, or `None` if the probe is gone.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: the change is seen by the next call.
    pub async fn changed(&mut self) -> Option<RegistrationStatus> {
        self.status.changed().await.ok()?;
        Some(self.status.borrow_and_update().clone())
    }

    /// Waits until the status is so, at once if it is; `None` if the probe is gone before.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn wait_until(
        &mut self,
        mut is_so: impl FnMut(&RegistrationStatus) -> bool,
    ) -> Option<RegistrationStatus> {
        self.status.wait_for(|status| is_so(status)).await.ok().map(|status| status.clone())
    }

    /// The connection reported its end. Its transport may repair itself, so the probe rebuilds nothing: it looks after a grace.
    ///
    /// Call it from the hook of the connection, as often as it likes.
    pub fn disconnected(&self) {
        self.signals.disconnected.store(true, Ordering::Release);
        self.signals.wake.notify_one();
    }

    /// A call was told that this process is not registered: the probe asks the registry at once, but not sooner than a twelfth of the interval (5 s) after the last look-up. See
    /// [`OwnEvictionWatch`](super::OwnEvictionWatch), which calls it for a stack.
    pub fn own_eviction_seen(&self) {
        self.signals.evicted.store(true, Ordering::Release);
        self.signals.wake.notify_one();
    }
}

impl Signals {
    /// Whether there was a disconnect, and whether an eviction was seen. Both are forgotten.
    pub(super) fn take(&self) -> (bool, bool) {
        (self.disconnected.swap(false, Ordering::Acquire), self.evicted.swap(false, Ordering::Acquire))
    }

    pub(super) async fn noticed(&self) {
        self.wake.notified().await;
    }
}
