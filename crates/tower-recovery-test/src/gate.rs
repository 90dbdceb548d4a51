//! An event that the test lets happen.

use std::sync::Arc;

use tokio::sync::watch;

/// A gate that starts closed. Clones are the same gate.
///
/// A step [behind](crate::Step::behind) a gate waits until the test [opens](Gate::open) it; an open gate stays open.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// Makes a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Whether the gate is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the gate is open.
    ///
    /// # Cancel safety
    ///
    /// Dropping this future has no effect on the gate or on others that wait.
    pub async fn opened(&self) {
        self.0.subscribe().wait_for(|open| *open).await.expect("the sender is borrowed, so the channel is open");
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
