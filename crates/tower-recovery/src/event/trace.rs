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
        }
    }
}
