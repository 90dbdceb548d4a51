//! All that a client offers, and the work that it does for others.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{sync::Semaphore, task::JoinSet};

use super::offers::Offers;
use crate::{
    secret::secret_name,
    wire::{Chunks, Limits},
};

pub(crate) struct Services {
    pub(crate) offers: Offers,
    /// Long messages in the making.
    pub(super) chunks: Mutex<Chunks>,
    /// `None` once nobody holds the client any more.
    running: Mutex<Option<JoinSet<()>>>,
    /// A place for each call that is served at a time.
    pub(super) places: Arc<Semaphore>,
    nonces: Nonces,
}

/// By what a registration of this process is told from one of another process, or an earlier one of its own.
struct Nonces {
    process: Box<str>,
    /// How many connections there were.
    connections: AtomicU64,
}

impl Services {
    /// How many calls are served at a time.
    const PLACES: usize = 512;

    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            offers: Offers::default(),
            chunks: Mutex::new(Chunks::new(limits)),
            running: Mutex::new(Some(JoinSet::new())),
            places: Arc::new(Semaphore::new(Self::PLACES)),
            nonces: Nonces { process: secret_name(), connections: AtomicU64::new(0) },
        }
    }

    /// The mark of the registrations over the connection that is there now.
    pub(crate) fn nonce(&self) -> String {
        format!("{}-{}", self.nonces.process, self.nonces.connections.load(Ordering::Relaxed))
    }

    /// Another connection: what was registered over the last one is not what is registered over this one.
    pub(crate) fn next_nonce(&self) {
        self.nonces.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a registration with this mark was made by this process, over whichever connection.
    pub(crate) fn is_of_this_process(&self, nonce: &str) -> bool {
        nonce.rsplit_once('-').is_some_and(|(process, _)| process == &*self.nonces.process)
    }

    /// Runs this beside the connection.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(running) = &mut *lock(&self.running) {
            while running.try_join_next().is_some() {}
            running.spawn(work);
        }
    }

    /// Ends all work: nobody holds the client any more.
    pub(crate) fn stop(&self) {
        // Dropping it aborts all of it, outside of the lock.
        let running = lock(&self.running).take();
        drop(running);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Services {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Services").field("offers", &self.offers).finish_non_exhaustive()
    }
}
