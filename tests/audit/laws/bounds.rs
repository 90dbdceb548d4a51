//! Law 11, but for the permits.

use std::collections::HashSet;

use tower_recovery::{GiveUp, RecoveryEvent};

use super::{Finding, Terms};
use crate::audit::{
    clients::ATTEMPTS,
    evidence::{CallEvidence, Evidence},
};

/// No call makes more attempts than it has, and the servers see no more than were made.
pub(super) fn nobody_hammers(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("11", "calls that were given up for their bounds", 50);
    for call in &evidence.calls {
        finding.stake_if(call.done.events.iter().any(|seen| is_given_up(&seen.event)));
        finding.hold(call.attempts() <= ATTEMPTS as usize, call, "more attempts than a call has");
        finding.hold(call.entry.arrived <= call.attempts(), call, "more arrived than was sent");
        finding.hold(is_free_once_a_generation(call), call, "a repeat was free twice");
    }
    finding
}

fn is_given_up(event: &RecoveryEvent) -> bool {
    matches!(event, RecoveryEvent::CallGivenUp { reason: GiveUp::Attempts | GiveUp::Budget | GiveUp::Deadline, .. })
}

fn is_free_once_a_generation(call: &CallEvidence) -> bool {
    let (mut failed_on, mut paid_for) = (None, HashSet::new());
    call.done.events.iter().all(|seen| match seen.event {
        RecoveryEvent::AttemptFailed { generation, .. } => {
            failed_on = generation;
            true
        }
        RecoveryEvent::CallRepeated { free: true, .. } => {
            failed_on.is_some_and(|generation| paid_for.insert(generation))
        }
        _ => true,
    })
}

/// Between the answer of the registry and the next look-up lies the floor. Of one that nobody heard, the moment of the question counts.
pub(super) fn resolves_have_a_floor(evidence: &Evidence, terms: Terms) -> Finding {
    let mut finding = Finding::new("11", "look-ups that followed another", 100);
    for (number, pair) in evidence.look_ups.windows(2).enumerate() {
        finding.stake_if(true);
        let pause = pair[1].asked - pair[0].answered.unwrap_or(pair[0].asked);
        let why = format_args!("only {pause:?} lie between look-up {} and the next", number + 1);
        finding.hold_overall(pause >= terms.floor, why);
    }
    finding
}
