//! All that a client offers, and the work that it does for others.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{sync::Semaphore, task::JoinSet};

use super::LocalService;
use crate::wire::{Chunks, Limits};

pub(crate) struct Services {
    offered: Mutex<BTreeMap<Arc<str>, Arc<LocalService>>>,
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
            offered: Mutex::default(),
            chunks: Mutex::new(Chunks::new(limits)),
            running: Mutex::new(Some(JoinSet::new())),
            places: Arc::new(Semaphore::new(Self::PLACES)),
            nonces: Nonces { process: format!("{:032x}", fastrand::u128(..)).into(), connections: AtomicU64::new(0) },
        }
    }

    /// Returns what had the name before.
    pub(crate) fn insert(&self, service: Arc<LocalService>) -> Option<Arc<LocalService>> {
        lock(&self.offered).insert(service.name().into(), service)
    }

    /// Puts back what had the name before, unless somebody else has it by now.
    pub(crate) fn take_back(&self, service: &Arc<LocalService>, before: Option<Arc<LocalService>>) {
        let mut offered = lock(&self.offered);
        if offered.get(service.name()).is_some_and(|present| Arc::ptr_eq(present, service)) {
            match before {
                Some(before) => offered.insert(before.name().into(), before),
                None => offered.remove(service.name()),
            };
        }
    }

    pub(crate) fn remove(&self, name: &str) {
        lock(&self.offered).remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<LocalService>> {
        lock(&self.offered).get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<LocalService>> {
        lock(&self.offered).values().cloned().collect()
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
        formatter.debug_struct("Services").field("offered", &self.all()).finish_non_exhaustive()
    }
}
