//! Law 9.

use super::Finding;
use crate::audit::evidence::Evidence;

/// A call that was dropped is executed at the most as often as it was sent: a write once. That its connections are closed, the end of the
/// run shows, which waits for that; that it takes nobody with it, the other calls show, which all end.
pub(super) fn dropped_calls_start_nothing(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("9", "calls that were dropped after they had arrived", 100);
    for call in evidence.calls.iter().filter(|call| call.is_dropped()) {
        finding.stake_if(call.entry.arrived > 0);
        let sent = call.attempts();
        finding.hold(call.entry.arrived <= sent, call, format_args!("{sent} attempts were sent, more arrived"));
        finding.hold(!call.done.call.is_write() || call.executed <= 1, call, "a dropped write was executed twice");
    }
    finding
}
