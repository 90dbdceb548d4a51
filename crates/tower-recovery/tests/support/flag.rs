//! Who was woken, for drivers that poll by hand.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Wake, Waker},
};

/// Up from the start, and whenever the task is woken.
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Relaxed)
    }

    #[allow(dead_code, reason = "not each driver has something to go on with")]
    pub(crate) fn raise(&self) {
        self.0.store(true, Relaxed);
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
