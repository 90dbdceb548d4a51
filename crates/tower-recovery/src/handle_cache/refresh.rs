//! Asking the registry from time to time, although nothing fails.

use std::{
    future::Future,
    sync::{Arc, Weak},
};

use tokio::{
    runtime::Handle as Runtime,
    task::AbortHandle,
    time::{Duration, Instant, sleep_until},
};

use super::{Acquire, shared::Shared};
use crate::{
    clock,
    sync::{Mutex, lock},
};

/// The task that refreshes, if one was started. It ends with the cache.
#[derive(Default)]
pub(super) struct Refresher(Mutex<Option<AbortHandle>>);

impl Refresher {
    /// Starts it where none runs: the first time, or since the runtime of the last one was shut down.
    pub(super) fn start<Refreshing>(&self, refreshing: impl FnOnce() -> Refreshing)
    where
        Refreshing: Future<Output = ()> + Send + 'static,
    {
        let Ok(runtime) = Runtime::try_current() else { return };
        let mut running = lock(&self.0);
        if running.as_ref().is_none_or(AbortHandle::is_finished) {
            *running = Some(runtime.spawn(refreshing()).abort_handle());
        }
    }
}

impl Drop for Refresher {
    fn drop(&mut self) {
        if let Some(running) = lock(&self.0).take() {
            running.abort();
        }
    }
}

/// Looks up once a period, of which chance takes up to a quarter away, so that clients that were started together do not ask together. Where there is no live handle there is
/// nothing to refresh: the next caller resolves.
pub(super) async fn every<Handle: Clone + Send + 'static>(period: Duration, cache: Weak<Shared<Handle>>) {
    loop {
        let pause = clock::part(period, 1.0 - fastrand::f64() / 4.0);
        sleep_until(clock::later(Instant::now(), pause)).await;
        let Some(cache) = cache.upgrade() else { return };
        if Arc::clone(&cache).live().is_some() {
            // That it failed is reported, and the live handle stays.
            let _outcome = Acquire::looking_up(cache).await;
        }
    }
}
