//! What is promised of every read.

use std::time::Duration;

use tower_recovery::GiveUp;

use super::Finding;
use crate::audit::{
    callers::Outcome,
    clients::DEADLINE,
    evidence::{CallEvidence, Evidence},
};

/// What a call may take beyond its deadline, beside what the timers of this run were late: from the moment that its task is woken to the one
/// that its caller looks at the clock, beside all others. A call that misses its deadline does so by a whole attempt.
const SLACK: Duration = Duration::from_millis(100);

/// Every read is answered, or fails with its cause, before its deadline: and so does every write.
pub(super) fn reads_end_in_time(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("reads", "calls that their deadline ended", 10);
    let limit = DEADLINE + SLACK + evidence.lateness;
    for call in &evidence.calls {
        finding.stake_if(is_ended_by_its_deadline(call));
        finding.hold(call.done.took <= limit, call, format_args!("it took more than {limit:?}"));
        if let Outcome::Failed(failed) = &call.done.outcome {
            finding.hold(failed.has_cause, call, "it failed without a cause");
            let may_fail = call.done.call.is_write() || failed.gave_up.is_some() || failed.permanent;
            let answered = failed.delivery == Some(tower_recovery::Delivery::Answered);
            finding.hold(may_fail || answered, call, "a read failed without a reason");
        }
    }
    finding
}

fn is_ended_by_its_deadline(call: &CallEvidence) -> bool {
    call.failed().is_some_and(|failed| failed.gave_up == Some(GiveUp::Deadline))
}
