//! Law 4.

use super::Finding;
use crate::audit::{callers::Outcome, evidence::Evidence, script};

/// An answer comes out as the application gave it, to the call that asked, and nothing follows it. A refusal comes out when nothing came of
/// repeating it.
pub(super) fn answers_are_final(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("4", "answers that are no success", 2_000);
    for call in &evidence.calls {
        let Outcome::Answered { status, body } = &call.done.outcome else { continue };
        finding.stake_if(!status.is_success());
        if script::is_refusal(*status) {
            finding.hold(call.attempts() > 1 || call.failures().count() == 1, call, "a refusal came out untried");
            continue;
        }
        let given = script::answer(evidence.seed, call.done.call.number);
        finding.hold(*status == given.status(), call, "another status came out");
        finding.hold(body == given.body(), call, "another body came out");
        let repeats = call.attempts() - 1;
        finding.hold(call.failures().count() == repeats, call, "something followed an answer");
    }
    finding
}
