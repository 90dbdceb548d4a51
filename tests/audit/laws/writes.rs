//! Law 1.

use tower_recovery::{Delivery, RecoveryEvent};

use super::Finding;
use crate::audit::evidence::{CallEvidence, Evidence};

/// No write is executed twice, whatever happens, and none is sent again that may have been executed.
pub(crate) fn no_write_twice(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("1", "writes that may have been executed", 500);
    for call in evidence.calls.iter().filter(|call| call.done.call.is_write()) {
        finding.stake_if(call.unknown_attempts() > 0);
        finding.hold(call.executed <= 1, call, "a write was executed twice");
        finding.hold(!is_sent_after_it_may_have_been_executed(call), call, "a write was sent again");
        finding.hold(call.entry.mutilated == 0, call, "a write was executed with a part of its body");
    }
    finding
}

fn is_sent_after_it_may_have_been_executed(call: &CallEvidence) -> bool {
    let events = call.done.events.iter();
    let mut after = events.skip_while(|seen| {
        !matches!(seen.event, RecoveryEvent::AttemptFailed { delivery: Some(Delivery::MaybeSent), .. })
    });
    after.any(|seen| matches!(seen.event, RecoveryEvent::CallRepeated { .. }))
}
