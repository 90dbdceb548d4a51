//! What must hold of every record. How the probe decides inside it does not know.

mod looks;
mod meaning;
mod steps;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tower_recovery::{
    RecoveryEvent,
    registration::{RegistrationHealth, RegistrationStatus},
};

use crate::{record::Seen, script::Setup};

/// What an observer heard: of most kinds of events how many.
#[derive(Default)]
pub(crate) struct Told {
    lost: AtomicU64,
    rebuilding: AtomicU64,
    confirmed: AtomicU64,
    unconfirmed: AtomicU64,
    /// After which time.
    recovered: Mutex<Vec<Duration>>,
}

/// What is so when the registry has worked for as long as a process needs.
pub(crate) struct Outcome {
    pub(crate) another: bool,
    pub(crate) served: bool,
    pub(crate) health: RegistrationHealth,
}

impl Told {
    pub(crate) fn hears(&self, event: &RecoveryEvent) {
        let counter = match event {
            RecoveryEvent::RegistrationLost { .. } => &self.lost,
            RecoveryEvent::RegistrationRebuildStarted { rebuild, .. } => {
                assert_eq!(*rebuild, self.rebuilding.load(Relaxed) + 1);
                &self.rebuilding
            }
            RecoveryEvent::RegistrationRebuilt { confirmed: true, .. } => &self.confirmed,
            RecoveryEvent::RegistrationRebuilt { .. } => &self.unconfirmed,
            RecoveryEvent::RegistrationRecovered { after, .. } => {
                return self.recovered.lock().expect("nobody panics here").push(*after);
            }
            _ => return,
        };
        counter.fetch_add(1, Relaxed);
    }
}

pub(crate) fn judge(setup: Setup, record: &[Seen], outcome: &Outcome, status: &RegistrationStatus, told: &Told) {
    let steps = steps::judge(setup, record);
    let looks = looks::judge(setup, record);

    if outcome.another {
        let superseded = matches!(outcome.health, RegistrationHealth::Superseded { .. });
        assert!(superseded, "law 10: another process has the id, and the status is {:?}", outcome.health);
    } else {
        assert!(outcome.served, "law 10: the registry works, and does not serve the process");
        assert_eq!(outcome.health, RegistrationHealth::Healthy, "law 10: the registry serves the process");
    }
    assert_eq!(status.look_ups, looks.number, "look-ups");
    assert_eq!(status.flaps, looks.episodes, "episodes");
    assert_eq!(status.confirmed, looks.confirmed, "rebuilds that helped");
    assert_eq!(status.rebuilds, steps.rebuilds, "rebuilds");

    let heard = |counter: &AtomicU64| counter.load(Relaxed);
    assert_eq!(heard(&told.rebuilding), steps.rebuilds);
    assert_eq!(heard(&told.confirmed), looks.confirmed);
    assert_eq!(*told.recovered.lock().expect("nobody panics here"), looks.recovered, "from the first loss on");
    assert!(heard(&told.lost) <= looks.episodes, "a loss is told once an episode");
    assert!(heard(&told.unconfirmed) + heard(&told.confirmed) <= steps.rebuilds);
}
