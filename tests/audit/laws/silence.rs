//! Law 3.

use tower_recovery::{Delivery, RecoveryEvent};

use super::Finding;
use crate::audit::{
    call::Kind,
    evidence::{CallEvidence, Evidence},
};

/// A repeat is silent if, and only if, an earlier attempt may have been executed and the read can be silenced; so a read counts once at the
/// most, and once if it never failed in doubt. A value of the caller's stays, and nothing else is touched.
pub(super) fn repeats_are_silent_only_where_needed(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("3", "repeats of reads that can be silenced", 500);
    for call in &evidence.calls {
        let repeats = repeats_with_doubt(call);
        let silenced = repeats.iter().filter(|(silenced, _)| *silenced).count();
        let can_be_silenced = matches!(call.done.call.kind, Kind::SilentRead | Kind::OutspokenRead);
        for (silenced, in_doubt) in &repeats {
            finding.stake_if(can_be_silenced);
            finding.hold(
                *silenced == (*in_doubt && can_be_silenced),
                call,
                "a repeat is silent, or loud, without need",
            );
        }
        if call.done.call.kind == Kind::SilentRead {
            let loud = call.entry.effects.iter().filter(|query| query.is_none()).count();
            let silent = call.entry.effects.iter().filter(|query| query.as_deref() == Some("silent=true")).count();
            finding.hold(loud + silent == call.entry.effects.len(), call, "a read came with another query");
            finding.hold(loud <= 1, call, "a read counted twice");
            finding.hold(silent <= silenced, call, "more executions were silent than attempts");
            let must_count = call.is_answered() && silenced == 0;
            finding.hold(!must_count || loud == 1, call, "a read did not count");
        } else {
            let own = call.done.call.own_query();
            finding.hold(call.entry.effects.iter().all(|query| query.as_deref() == own), call, "a query was changed");
        }
    }
    finding
}

/// For each repeat: whether it was silenced, and whether an attempt before it may have been executed.
fn repeats_with_doubt(call: &CallEvidence) -> Vec<(bool, bool)> {
    let mut in_doubt = false;
    let mut repeats = Vec::new();
    for seen in &call.done.events {
        match seen.event {
            RecoveryEvent::AttemptFailed { delivery, .. } => in_doubt |= delivery == Some(Delivery::MaybeSent),
            RecoveryEvent::CallRepeated { silenced, .. } => repeats.push((silenced, in_doubt)),
            _ => {}
        }
    }
    repeats
}
