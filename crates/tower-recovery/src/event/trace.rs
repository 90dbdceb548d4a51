//! The log line of each event.

use tracing::{debug, field::display, info, warn};

use super::RecoveryEvent;

impl RecoveryEvent {
    pub(super) fn trace(&self) {
        match self {
            Self::HandleResolved { name, identity, generation, previous: Some(previous) } => {
                info!(old = %previous, new = %identity, %generation, "Re-resolved the {name}.");
            }
            Self::HandleResolved { name, identity, generation, previous: None } => {
                debug!(new = %identity, %generation, "Resolved the {name}.");
            }
            Self::ResolveFailed { name, cause } => warn!(%cause, "Could not resolve the {name}."),
            Self::HandleEvicted { name, identity, generation } => {
                info!(%identity, %generation, "Evicted the {name}.");
            }
            Self::HandleSuspected { name, identity, generation } => {
                info!(%identity, %generation, "Suspecting the {name}.");
            }
            Self::AttemptFailed { route, method, attempt, delivery, generation, cause } => {
                let (delivery, generation) = (delivery.map(display), generation.map(display));
                debug!(%route, %method, attempt, delivery, generation, %cause, "An attempt failed.");
            }
            Self::CallRepeated { route, method, attempt, silenced, free } => {
                debug!(%route, %method, attempt, silenced, free, "Repeating a call.");
            }
            Self::CallGivenUp { route, method, attempts, delivery, reason } => {
                debug!(%route, %method, attempts, delivery = delivery.map(display), ?reason, "Giving a call up.");
            }
            Self::PhysicalAttemptStarted { route, method, attempt, silenced } => {
                debug!(%route, %method, attempt, silenced, "An attempt of a stream begins.");
            }
            Self::PhysicalAttemptFailed { route, method, attempt, delivery, items, bytes, cause } => {
                let delivery = delivery.map(display);
                info!(%route, %method, attempt, delivery, items, bytes, %cause, "An attempt of a stream failed.");
            }
            Self::PhysicalAttemptSucceeded { route, method, attempt, items, bytes } => {
                debug!(%route, %method, attempt, items, bytes, "A stream is complete.");
            }
            Self::PhysicalAttemptAbandoned { route, method, attempt, items, bytes } => {
                info!(%route, %method, attempt, items, bytes, "A silent attempt of a stream is given up.");
            }
            Self::CallActivity { route, method, attempt, items } => {
                debug!(%route, %method, attempt, items, "A stream is alive.");
            }
            Self::CallWaiting { route, method, attempt, silent_for } => {
                info!(%route, %method, attempt, ?silent_for, "Waiting for a stream.");
            }
            Self::RecoveryProbeStarted { route, method, attempt, round } => {
                info!(%route, %method, attempt, round, "A stream is silent: probing its route.");
            }
            Self::RecoveryProbeSucceeded { route, method, attempt } => {
                info!(%route, %method, attempt, "The route of a silent stream works.");
            }
            Self::RecoveryProbeFailed { route, method, attempt, cause } => {
                warn!(%route, %method, attempt, %cause, "The route of a silent stream gave no answer.");
            }
            Self::RecoveryProbeCancelled { route, method, attempt } => {
                debug!(%route, %method, attempt, "A probe is not needed any more.");
            }
            Self::RecoveryOriginalPreserved { route, method, attempt, reason } => {
                info!(%route, %method, attempt, %reason, "A silent stream is left alone.");
            }
            Self::RecoveryGraceStarted { route, method, attempt } => {
                info!(%route, %method, attempt, "A silent stream is waited for a last time.");
            }
            Self::RecoveryExhausted { route, method, attempts } => {
                warn!(%route, %method, attempts, "The replacements of a stream are spent.");
            }
            Self::RecoveryProviderUnreachable { route, method, attempts } => {
                warn!(%route, %method, attempts, "The route of a silent stream is unreachable.");
            }
            Self::RecoveryReplacementProposed {
                route,
                method,
                attempt,
                basis,
                pause,
                duplicate_server_work_possible,
            } => {
                warn!(%route, %method, attempt, %basis, ?pause, duplicate_server_work_possible, "Replacing a stream.");
            }
            Self::RegistrationLost { name, cause } => warn!(%cause, "Lost the {name}."),
            Self::RegistrationRebuildStarted { name, rebuild } => info!(rebuild, "Rebuilding the {name}."),
            Self::RegistrationStepFailed { name, step, cause, permanent } => {
                warn!(%step, %cause, permanent, "Could not rebuild the {name}.");
            }
            Self::RegistrationRebuilt { name, confirmed: true } => info!("Rebuilt the {name}."),
            Self::RegistrationRebuilt { name, confirmed: false } => {
                warn!("Rebuilt the {name}, but the registry does not show it.");
            }
            Self::RegistrationRecovered { name, after } => info!(?after, "Recovered the {name}."),
            Self::RegistrationSuperseded { name, by } => warn!(%by, "Somebody else has the {name}."),
        }
    }
}
