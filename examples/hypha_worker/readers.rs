//! Stage: those who read all the time.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

const READERS: usize = 4;
/// A reader's pause between two reads.
const PAUSE: Duration = Duration::from_millis(25);
const WITHIN: Duration = Duration::from_secs(60);

/// Readers that go on until they are stopped.
pub(crate) struct Readers {
    tasks: JoinSet<Reads>,
    ended: watch::Sender<[usize; READERS]>,
    stop: watch::Sender<bool>,
}

/// What became of the reads.
#[derive(Default)]
pub(crate) struct Reads {
    pub(crate) answered: usize,
    pub(crate) failures: Vec<String>,
    pub(crate) slowest: Duration,
}

impl Readers {
    /// Each read has an id of its own, by which the ledger names it.
    pub(crate) fn start<Reading>(read: impl Fn(String) -> Reading + Clone + Send + Sync + 'static) -> Self
    where
        Reading: Future<Output = Result<(), String>> + Send,
    {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let (ended, stop) = (watch::Sender::default(), watch::Sender::new(false));
        let mut tasks = JoinSet::new();
        for reader in 0..READERS {
            let (read, ended, stop) = (read.clone(), ended.clone(), stop.subscribe());
            tasks.spawn(async move {
                let mut reads = Reads::default();
                while !*stop.borrow() {
                    let began = Instant::now();
                    match read(format!("read-{}", NUMBER.fetch_add(1, Ordering::Relaxed))).await {
                        Ok(()) => reads.answered += 1,
                        Err(failure) => reads.failures.push(failure),
                    }
                    reads.slowest = reads.slowest.max(began.elapsed());
                    ended.send_modify(|ended: &mut [usize; READERS]| ended[reader] += 1);
                    sleep(PAUSE).await;
                }
                reads
            });
        }
        Self { tasks, ended, stop }
    }

    /// Waits until each of them has begun and ended a read from now on: of two that end, the second has begun by then.
    pub(crate) async fn read_on(&self) {
        let mut ended = self.ended.subscribe();
        let before = *ended.borrow();
        let have_all = |now: &[usize; READERS]| now.iter().zip(before).all(|(now, before)| *now >= before + 2);
        timeout(WITHIN, ended.wait_for(have_all)).await.expect("reads end").expect("the readers are there");
    }

    pub(crate) async fn stop(mut self) -> Reads {
        self.stop.send_replace(true);
        let mut all = Reads::default();
        while let Some(reads) = self.tasks.join_next().await {
            let reads = reads.expect("a reader does not panic");
            all.answered += reads.answered;
            all.failures.extend(reads.failures);
            all.slowest = all.slowest.max(reads.slowest);
        }
        all
    }
}
