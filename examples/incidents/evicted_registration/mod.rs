//! The evicted registration: a registry forgets processes whose sockets stay open.
//!
//! An echo over such a socket answers as before, so a process that watches it sees nothing, while its id resolves nowhere. To register again
//! over it is no help either: the registry says that it went well, and holds nothing. Who asks the registry itself knows within an interval.

mod contender;
mod membership;
mod numbers;
mod outside;
mod process;
mod registrar;
mod registry;
mod report;
mod wire;

use std::{sync::Arc, time::Duration};

use tokio::{sync::Barrier, time::Instant};

pub(crate) use self::report::Report;
use self::{contender::Contender, numbers::Numbers, process::Process, registry::Registry};

/// How many processes each contender has. They are evicted at one moment.
const PROCESSES: usize = 20;
/// 1 s stands for the 60 s of the incident, and the times of the probe are as much shorter.
const INTERVAL: Duration = Duration::from_secs(1);
const SPREAD: Duration = Duration::from_millis(333);
const LOOK_UP_TIMEOUT: Duration = Duration::from_millis(166);
const CLOSE_TIMEOUT: Duration = Duration::from_millis(83);
const STEP_TIMEOUT: Duration = Duration::from_millis(166);
/// How long a rebuild may take: asked, asked again after the spread, closed, connected and registered. Then the consumer finds it.
const REBUILD: Duration =
    LOOK_UP_TIMEOUT.saturating_mul(2).saturating_add(CLOSE_TIMEOUT).saturating_add(STEP_TIMEOUT.saturating_mul(2));
/// Intervals before the eviction, and a part of one that chance says: no probe is due at that moment by design.
const HEALTHY: u32 = 4;
/// Intervals after it.
const EVICTED: u32 = 5;
/// How long the work takes that begins half an interval before the eviction: longer than any rebuild.
const SLOW_WORK: Duration = Duration::from_secs(3);
/// The consumer's time from one use to the next.
const PAUSE: Duration = Duration::from_millis(20);
/// What has no answer by then has none, so that the run ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// When things happen.
#[derive(Clone, Copy)]
struct Plan {
    slow_work: Instant,
    eviction: Instant,
    end: Instant,
}

/// Runs both contenders at one time, each with a registry of its own.
pub(crate) async fn run() -> Report {
    let replays = Contender::ALL.map(async |contender| (contender, replay(contender).await));
    Report::new(futures::future::join_all(replays).await)
}

async fn replay(contender: Contender) -> Vec<Numbers> {
    let registry = Registry::start().await.expect("a server can be started on loopback");
    let starting = (0..PROCESSES).map(|number| Process::start(contender, number, registry.address()));
    let processes = futures::future::try_join_all(starting).await.expect("the registry takes every process");
    let plan = Plan::from(Instant::now());
    let begun = Arc::new(Barrier::new(PROCESSES + 1));
    let looking: Vec<_> = processes
        .iter()
        .map(|process| {
            let (membership, begun) = (process.membership.clone(), Arc::clone(&begun));
            tokio::spawn(async move {
                outside::look(&membership.id, membership.address, membership.registry, plan, &begun).await
            })
        })
        .collect();

    begun.wait().await;
    tokio::time::sleep_until(plan.eviction).await;
    let evicted = registry.drop_keys();
    let seen = futures::future::try_join_all(looking).await.expect("nobody who looks panics");
    let log = registry.log();
    let of = |(process, seen)| Numbers::count(process, seen, &log, evicted, plan.end);
    processes.iter().zip(&seen).map(of).collect()
}

impl Plan {
    fn from(start: Instant) -> Self {
        let eviction = start + INTERVAL * HEALTHY + INTERVAL.mul_f64(fastrand::f64());
        Self { slow_work: eviction - INTERVAL / 2, eviction, end: eviction + INTERVAL * EVICTED }
    }
}
