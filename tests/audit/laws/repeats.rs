//! Law 2, and the proof of what it rests on.

use tower_recovery::{Delivery, GiveUp, RecoveryEvent};

use super::{Finding, Terms};
use crate::audit::{
    callers::Outcome,
    clients::{ATTEMPTS, DEADLINE, LONGEST_PAUSE},
    evidence::{CallEvidence, Evidence},
    till::Trade,
};

/// What certainly was not executed is sent again, and so is a read, unless attempts, permits or deadline ran out, there is nothing to
/// send, or the cause is permanent. What is given up says why.
pub(super) fn what_was_not_executed_is_repeated(evidence: &Evidence, terms: Terms) -> Finding {
    let mut finding = Finding::new("2", "attempts that failed before anything was executed", 2_000);
    for call in &evidence.calls {
        let mut events = call.done.events.iter().filter(|seen| is_of_the_call(&seen.event)).peekable();
        while let Some(seen) = events.next() {
            let RecoveryEvent::AttemptFailed { delivery, cause, .. } = &seen.event else { continue };
            finding.hold(delivery.is_some(), call, "a failure of the transport was not recognised");
            let send_side = delivery.is_some_and(Delivery::is_send_side);
            let may_be_repeated = send_side || (*delivery == Some(Delivery::MaybeSent) && !call.done.call.is_write());
            let is_followed = events.peek().is_some();
            let is_permanent = call.failed().is_some_and(|failed| failed.permanent);
            finding.stake_if(send_side && (is_followed || !is_permanent));
            let may_end = !may_be_repeated || is_permanent || call.is_dropped();
            finding.hold(is_followed || may_end, call, "a call ended that might have been repeated");
            finding.hold(!is_followed || may_be_repeated, call, "a call went on that must not");
            finding.hold(!is_followed || !cause.contains(PERMANENT), call, "a call went on for which there is no hope");
        }
        if let Some(reason) = call.failed().and_then(|failed| failed.gave_up) {
            finding.hold(is_true(reason, call, terms), call, "the reason for giving up is not so");
        }
    }
    finding
}

/// What is said of an origin that these clients can never reach. (reqwest does not say so of its own.)
const PERMANENT: &str = "no TLS is configured";

fn is_of_the_call(event: &RecoveryEvent) -> bool {
    matches!(
        event,
        RecoveryEvent::AttemptFailed { .. } | RecoveryEvent::CallRepeated { .. } | RecoveryEvent::CallGivenUp { .. }
    )
}

fn is_true(reason: GiveUp, call: &CallEvidence, terms: Terms) -> bool {
    match reason {
        GiveUp::Attempts => call.attempts() == ATTEMPTS as usize,
        GiveUp::Deadline => call.done.took + LONGEST_PAUSE >= DEADLINE,
        GiveUp::NoRequest => terms.knows_once && call.done.call.sent_once,
        GiveUp::Budget => call.trades(Trade::Refused) == 1,
        _ => false,
    }
}

/// What a call proves is so: an answer was executed once, what is said not to have been executed was not, and nothing else was.
pub(super) fn what_is_proven_is_so(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("2", "calls that failed without having been executed", 10);
    for call in &evidence.calls {
        let answered = call.answered_attempts();
        let most = answered + call.unknown_attempts();
        let executed = call.executed;
        finding.hold((answered..=most).contains(&executed), call, format_args!("not {answered} to {most} executions"));
        let Outcome::Failed(failed) = &call.done.outcome else { continue };
        if failed.delivery.is_some_and(Delivery::is_send_side) {
            finding.stake_if(true);
            finding.hold(executed == 0, call, "it was executed, and its failure says that it was not");
        }
        finding.hold(failed.attempts as usize == call.attempts(), call, "a failure counts its attempts wrongly");
    }
    finding
}
