//! Events of the route `completions` and the method `commit`, in short.

use std::{sync::Arc, time::Duration};

use tower_recovery::{
    Delivery,
    RecoveryEvent::{self, *},
    stream_replacement::{PreservedBecause, ReplacementBasis},
};

use super::world::seconds;

pub(crate) fn route() -> Arc<str> {
    Arc::from("completions")
}

pub(crate) fn method() -> String {
    "commit".to_owned()
}

pub(crate) fn started(attempt: u32) -> RecoveryEvent {
    PhysicalAttemptStarted { route: route(), method: method(), attempt, silenced: false }
}

pub(crate) fn failed(attempt: u32, items: u64, bytes: u64, cause: &str) -> RecoveryEvent {
    let delivery = Some(Delivery::MaybeSent);
    PhysicalAttemptFailed { route: route(), method: method(), attempt, delivery, items, bytes, cause: cause.to_owned() }
}

pub(crate) fn succeeded(attempt: u32, items: u64, bytes: u64) -> RecoveryEvent {
    PhysicalAttemptSucceeded { route: route(), method: method(), attempt, items, bytes }
}

pub(crate) fn abandoned(attempt: u32, items: u64, bytes: u64) -> RecoveryEvent {
    PhysicalAttemptAbandoned { route: route(), method: method(), attempt, items, bytes }
}

pub(crate) fn active(attempt: u32, items: u64) -> RecoveryEvent {
    CallActivity { route: route(), method: method(), attempt, items }
}

pub(crate) fn waiting(attempt: u32, silent_for: u64) -> RecoveryEvent {
    CallWaiting { route: route(), method: method(), attempt, silent_for: seconds(silent_for) }
}

pub(crate) fn probe_started(attempt: u32, round: u32) -> RecoveryEvent {
    RecoveryProbeStarted { route: route(), method: method(), attempt, round }
}

pub(crate) fn probe_succeeded(attempt: u32) -> RecoveryEvent {
    RecoveryProbeSucceeded { route: route(), method: method(), attempt }
}

pub(crate) fn probe_failed(attempt: u32, cause: &str) -> RecoveryEvent {
    RecoveryProbeFailed { route: route(), method: method(), attempt, cause: cause.to_owned() }
}

pub(crate) fn probe_cancelled(attempt: u32) -> RecoveryEvent {
    RecoveryProbeCancelled { route: route(), method: method(), attempt }
}

pub(crate) fn preserved(attempt: u32, reason: PreservedBecause) -> RecoveryEvent {
    RecoveryOriginalPreserved { route: route(), method: method(), attempt, reason }
}

pub(crate) fn grace_started(attempt: u32) -> RecoveryEvent {
    RecoveryGraceStarted { route: route(), method: method(), attempt }
}

pub(crate) fn exhausted(attempts: u32) -> RecoveryEvent {
    RecoveryExhausted { route: route(), method: method(), attempts }
}

pub(crate) fn unreachable(attempts: u32) -> RecoveryEvent {
    RecoveryProviderUnreachable { route: route(), method: method(), attempts }
}

pub(crate) fn proposed(attempt: u32, basis: ReplacementBasis, pause: Duration, twice: bool) -> RecoveryEvent {
    RecoveryReplacementProposed {
        route: route(),
        method: method(),
        attempt,
        basis,
        pause,
        duplicate_server_work_possible: twice,
    }
}

pub(crate) const FAILED: ReplacementBasis = ReplacementBasis::RetryableTransportFailure;
pub(crate) const SILENT: ReplacementBasis = ReplacementBasis::HealthySideCallAndNoActivityThroughGrace;
pub(crate) const LOST: &str = "the socket was closed before the answer came";
