//! What a process does for others while its registration comes and goes.

use std::sync::Arc;

use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Duration, sleep},
};

use super::Worker;

/// A piece of work that holds a slot, and during which its connection hears something each second. Nothing may cancel it.
#[derive(Debug)]
pub(crate) struct LocalWork {
    slots: Arc<Semaphore>,
    working: JoinHandle<u32>,
    seconds: u32,
}

impl LocalWork {
    pub(crate) fn begin(slots: &Arc<Semaphore>, seconds: u32) -> Self {
        Self::heard_by(slots, seconds, None)
    }

    /// Work that is done over the connection of this process.
    pub(crate) fn of(worker: &Worker, slots: &Arc<Semaphore>, seconds: u32) -> Self {
        Self::heard_by(slots, seconds, Some(worker.clone()))
    }

    fn heard_by(slots: &Arc<Semaphore>, seconds: u32, worker: Option<Worker>) -> Self {
        let slot = Arc::clone(slots).try_acquire_owned().unwrap();
        let working = tokio::spawn(async move {
            for _ in 0..seconds {
                sleep(Duration::from_secs(1)).await;
                if let Some(worker) = &worker {
                    worker.hears();
                }
            }
            drop(slot);
            seconds
        });
        Self { slots: Arc::clone(slots), working, seconds }
    }

    pub(crate) fn is_under_way(&self) -> bool {
        !self.working.is_finished() && self.slots.available_permits() == 0
    }

    /// Its result is delivered, and its slot is free again.
    pub(crate) async fn delivered(self) {
        assert_eq!(self.working.await.unwrap(), self.seconds, "it was done to its end");
    }
}
