//! Runs a script: a probe, the registry, the process's own work, and what others notice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{task::JoinHandle, time::sleep};
use tower_recovery::{
    RecoveryEvent,
    registration::{RegistrationMonitor, RegistrationProbe},
};

use crate::{
    oracle::{self, Outcome, Told},
    record::What,
    script::{Script, Step},
    times::{INTERVAL, bound},
    world::World,
};

/// Runs a script, or ends by the law that it breaks.
pub(crate) fn run(script: &Script) {
    // The probe draws its chances from this generator: the same script meets the same.
    fastrand::seed(script.chance);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O can be built").block_on(drive(script));
}

async fn drive(script: &Script) {
    let world = World::new();
    let told = Arc::new(Told::default());
    let probe = probe(script, &world, &told);
    let monitor = probe.monitor();
    let probing = tokio::spawn(probe.run());
    let work = [Work::begin(7), Work::begin(11)];

    for &(after, step) in &script.steps {
        if after > 0 {
            sleep(Duration::from_millis(after.into())).await;
        }
        apply(step, &world, &monitor);
    }
    world.ends_its_script();
    sleep(bound()).await;
    let outcome = Outcome {
        another: world.serves_another(),
        served: world.serves_the_process(),
        health: monitor.status().health,
    };
    // So long that the look-ups of a healthy process are seen.
    sleep(INTERVAL * 3).await;

    assert!(!probing.is_finished(), "law 10: a probe has no end");
    probing.abort();
    work.into_iter().for_each(Work::went_on);
    oracle::judge(script.setup, &world.record(), &outcome, &monitor.status(), &told);
}

fn probe(script: &Script, world: &World, told: &Arc<Told>) -> RegistrationProbe<World> {
    let told = Arc::clone(told);
    let setup = script.setup;
    let builder = RegistrationProbe::builder(world.clone())
        .unanswered_look_ups(setup.unanswered_look_ups)
        .busy_look_ups(setup.busy_look_ups)
        .observer(move |event: &RecoveryEvent| told.hears(event));
    let builder = if setup.connected { builder.connection(world.registered()) } else { builder };
    builder.build().expect("the defaults fit each other")
}

fn apply(step: Step, world: &World, monitor: &RegistrationMonitor) {
    match step {
        Step::Disconnected { times } => (0..times).for_each(|_| {
            world.saw(What::Disconnected);
            monitor.disconnected();
        }),
        Step::EvictionSeen { times } => (0..times).for_each(|_| {
            world.saw(What::EvictionSeen);
            monitor.own_eviction_seen();
        }),
        step => world.apply(step),
    }
}

/// What the process does for others, whether it is registered or not.
struct Work {
    task: JoinHandle<()>,
    done: Arc<AtomicU64>,
    each: Duration,
    began: tokio::time::Instant,
}

impl Work {
    fn begin(seconds: u64) -> Self {
        let (done, each) = (Arc::new(AtomicU64::new(0)), Duration::from_secs(seconds));
        let counter = Arc::clone(&done);
        let task = tokio::spawn(async move {
            loop {
                sleep(each).await;
                counter.fetch_add(1, Relaxed);
            }
        });
        Self { task, done, each, began: tokio::time::Instant::now() }
    }

    fn went_on(self) {
        assert!(!self.task.is_finished(), "law 10: a probe cancels no work");
        let expected = self.began.elapsed().as_secs() / self.each.as_secs();
        let done = self.done.load(Relaxed);
        assert!(done + 1 >= expected, "law 10: the work was held up: {done} of {expected} pieces");
        self.task.abort();
    }
}
