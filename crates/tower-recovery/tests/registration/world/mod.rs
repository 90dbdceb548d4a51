//! A world for a probe: a registry, processes that serve, and what is seen of them.

mod registry;
mod work;
mod worker;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Duration, Instant, timeout},
};
use tower_recovery::{
    RecoveryEvent, RegistrationMonitor, RegistrationProbe,
    registration::{RegistrationProbeBuilder, RegistrationStatus},
};

pub(crate) use self::{
    registry::{Answers, Asked, Entry, Registry, What},
    work::LocalWork,
    worker::{Act, Connection, LATENCY, Worker},
};

pub(crate) const ID: &str = "workspace/worker-7";
pub(crate) const INTERVAL: Duration = Duration::from_secs(60);
/// The spread that follows from the interval.
pub(crate) const SPREAD: Duration = Duration::from_secs(20);

/// How long a test waits for anything, by a clock that costs nothing.
pub(crate) const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

pub(crate) fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// One slot for work.
pub(crate) fn slot() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1))
}

/// A process that is registered, with its probe at work.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) worker: Worker,
    pub(crate) monitor: RegistrationMonitor,
    pub(crate) events: Events,
    pub(crate) probing: JoinHandle<Infallible>,
}

impl Serving {
    /// With default times, in a registry of its own.
    pub(crate) fn begin() -> Self {
        Self::of(Worker::new(&Registry::new(), ID))
    }

    pub(crate) fn of(worker: Worker) -> Self {
        Self::with(worker, |builder| builder)
    }

    pub(crate) fn with(
        worker: Worker,
        settings: impl FnOnce(RegistrationProbeBuilder<Worker>) -> RegistrationProbeBuilder<Worker>,
    ) -> Self {
        let connection = worker.registered();
        Self::starting(worker, |builder| settings(builder.connection(connection)))
    }

    /// Not connected yet.
    pub(crate) fn starting(
        worker: Worker,
        settings: impl FnOnce(RegistrationProbeBuilder<Worker>) -> RegistrationProbeBuilder<Worker>,
    ) -> Self {
        let events = Events::default();
        let seen = events.clone();
        let builder = RegistrationProbe::builder(worker.clone()).named("registration of worker-7");
        let observed = builder.observer(move |event: &RecoveryEvent| seen.push(event.clone()));
        let probe = settings(observed).build().unwrap();
        Self { worker, monitor: probe.monitor(), events, probing: tokio::spawn(probe.run()) }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.worker.registry
    }

    pub(crate) fn status(&self) -> RegistrationStatus {
        self.monitor.status()
    }

    pub(crate) async fn until(&mut self, is_so: impl FnMut(&RegistrationStatus) -> bool) -> RegistrationStatus {
        timeout(LONGEST, self.monitor.wait_until(is_so)).await.expect("it never came to that").unwrap()
    }

    /// Until so many look-ups more have ended.
    pub(crate) async fn looked_up(&mut self, more: u64) -> RegistrationStatus {
        let number = self.status().look_ups + more;
        self.until(|status| status.look_ups >= number).await
    }

    pub(crate) async fn healthy(&mut self) -> RegistrationStatus {
        self.until(RegistrationStatus::is_registered).await
    }

    pub(crate) async fn failing(&mut self) -> RegistrationStatus {
        self.until(|status| status.failing_since().is_some()).await
    }

    /// What a probe owes at any moment: it runs, and no process did what it may not.
    pub(crate) fn is_sound(&self) {
        assert!(!self.probing.is_finished(), "the probe has no end");
        assert_eq!(self.registry().faults(), Vec::<String>::new());
        assert_eq!(self.rebuilds().len() as u64, self.status().rebuilds);
    }

    /// When rebuilds began.
    pub(crate) fn rebuilds(&self) -> Vec<Instant> {
        self.events.times(|event| matches!(event, RecoveryEvent::RegistrationRebuildStarted { .. }))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.probing.abort();
    }
}

/// Just after a look-up, so that the next one that is due is an interval away.
pub(crate) async fn just_looked_up() -> Serving {
    let mut serving = Serving::begin();
    serving.looked_up(1).await;
    serving
}

/// How long after this moment the registry is asked next.
pub(crate) async fn asked_after(serving: &mut Serving, moment: Instant) -> Duration {
    let asked = serving.registry().count(Asked::LookUp);
    serving.looked_up(1).await;
    serving.registry().times(Asked::LookUp)[asked] - moment
}

/// Whether each of these begins so long after the one before.
#[track_caller]
pub(crate) fn assert_apart(times: &[Instant], by: Duration) {
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= by, "{:?} lie between two of {times:?}", pair[1] - pair[0]);
    }
}

/// What was reported, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<(Instant, RecoveryEvent)>>>);

impl Events {
    fn push(&self, event: RecoveryEvent) {
        self.0.lock().unwrap().push((Instant::now(), event));
    }

    pub(crate) fn all(&self) -> Vec<RecoveryEvent> {
        self.0.lock().unwrap().iter().map(|(_, event)| event.clone()).collect()
    }

    pub(crate) fn times(&self, is_one: impl Fn(&RecoveryEvent) -> bool) -> Vec<Instant> {
        self.0.lock().unwrap().iter().filter(|(_, event)| is_one(event)).map(|(at, _)| *at).collect()
    }
}
