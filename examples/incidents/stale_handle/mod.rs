//! The stale handle: an artifact manager registers anew under another id, and the old address freezes or refuses.
//!
//! Whoever resolved the name once and kept the handle goes on calling an instance that is no longer the one. When the frozen
//! instance thaws it **executes what it held**, also for callers that gave up long ago: this is why a write that may have been sent
//! must not be sent again.

mod contender;
mod load;
mod numbers;
mod report;
mod world;

use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::report::Report;
use self::{contender::Contender, load::Load, numbers::Numbers, world::World};

/// How long every contender waits for an answer: 1.5 s stand for the 30 s of the incident.
const TIMEOUT: Duration = Duration::from_millis(1_500);
/// The deadline of the contender that has one: shorter than that.
const DEADLINE: Duration = Duration::from_millis(1_200);
/// How long a read waits before it suspects its handle. A write takes a part of that.
const SUSPECT_AFTER: Duration = Duration::from_millis(600);
/// When the frozen instance thaws, from the fault on: late enough for whoever retries to have sent its repeat to it.
const THAW: Duration = Duration::from_millis(2_000);
/// When the callers stop to start calls, from the fault on.
const END: Duration = Duration::from_millis(2_600);
/// How many writes must be in flight at the fault.
const WRITES_IN_FLIGHT: usize = 300;

/// What becomes of the old address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Freezes,
    Refuses,
}

impl Fault {
    const ALL: [Self; 2] = [Self::Freezes, Self::Refuses];

    fn name(self) -> &'static str {
        match self {
            Self::Freezes => "freezes",
            Self::Refuses => "refuses",
        }
    }
}

/// Runs every contender through both faults, one after the other.
pub(crate) async fn run() -> Report {
    let mut report = Report::default();
    for fault in Fault::ALL {
        for contender in Contender::ALL {
            report.add(fault, contender, replay(fault, contender).await);
        }
    }
    report
}

async fn replay(fault: Fault, contender: Contender) -> Numbers {
    let world = World::start().await.expect("servers can be started on loopback");
    let client = contender.connect(world.registry_client(), world.observer()).await;
    let load = Load::start(&client, &world).await;

    load.everybody_calls_again();
    world.wait_until_writes_in_flight(WRITES_IN_FLIGHT).await;
    let writes_in_flight = world.register_anew();
    match fault {
        Fault::Freezes => world.old().freeze(),
        Fault::Refuses => world.old().refuse().await,
    }
    let at = Instant::now();
    if fault == Fault::Freezes {
        tokio::time::sleep_until(at + THAW).await;
        world.old().thaw();
    }
    let calls = load.until(at + END).await;
    Numbers::count(at, at + END, writes_in_flight, &calls, &world)
}
