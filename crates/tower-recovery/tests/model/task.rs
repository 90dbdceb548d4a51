//! What the driver polls by hand.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Wake, Waker},
};

use crate::record::Outcome;

/// A call or a refresh under way.
pub(crate) struct Task {
    pub(crate) future: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    pub(crate) woken: Arc<Flag>,
    pub(crate) held: bool,
    pub(crate) refreshes: bool,
}

/// Up from the start, and whenever the task is woken.
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Lowers it for the next poll, and gives the waker that raises it.
    pub(crate) fn lower(self: &Arc<Self>) -> Waker {
        self.0.store(false, Relaxed);
        Waker::from(Arc::clone(self))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}
