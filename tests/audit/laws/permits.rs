//! Law 11, and of law 2 the part that speaks of permits: what was sold is what was used, and who was refused was refused for a reason.

use tower_recovery::{GiveUp, RecoveryEvent};

use super::Finding;
use crate::audit::{
    clients::{MOST_PERMITS, PERMITS_IN_PERCENT, RESERVED_PERMITS},
    evidence::{CallEvidence, Evidence},
    till::Trade,
};

/// A call is given up for want of a permit if, and only if, it asked for one and was refused.
pub(super) fn who_lacks_a_permit_was_refused_one(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("2", "permits that were refused", 20);
    for call in &evidence.calls {
        let refused = call.trades(Trade::Refused);
        finding.at_stake += refused;
        let given_up = call.done.events.iter().filter(|seen| is_given_up_for_want_of_a_permit(&seen.event)).count();
        let why = format_args!("{refused} permits were refused, but it was given up {given_up} times for want of one");
        finding.hold(refused == given_up, call, why);
        let says_so = call.failed().is_some_and(|failed| failed.gave_up == Some(GiveUp::Budget));
        finding.hold(!says_so || refused == 1, call, "it failed for want of a permit, and was refused none");
    }
    finding
}

/// Each repeat that is not free uses a permit, and no other permit stays away.
pub(super) fn repeats_are_paid_for(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("11", "permits that were sold", 50);
    for call in &evidence.calls {
        let (sold, given_back) = (call.trades(Trade::Sold), call.trades(Trade::GivenBack));
        finding.at_stake += sold;
        let paid = call.repeats().filter(|(_, free)| !free).count();
        let why = format_args!("{sold} permits were sold and {given_back} given back, but {paid} repeats paid for");
        finding.hold(sold == given_back + paid, call, why);
    }
    for trade in [Trade::Sold, Trade::Refused, Trade::GivenBack] {
        let of_calls: usize = evidence.calls.iter().map(|call| call.trades(trade)).sum();
        let of_all = evidence.trades.iter().filter(|other| **other == trade).count();
        finding.hold_overall(of_calls == of_all, format_args!("{trade:?} {of_all} times, {of_calls} times in a call"));
    }
    finding
}

/// A permit is sold if, and only if, the reserve and a share of what was answered hold one.
pub(super) fn permits_are_a_share_of_the_answers(evidence: &Evidence) -> Finding {
    const PERMIT: u32 = 100;
    let mut finding = Finding::new("11", "times that somebody asked for a permit", 100);
    let (mut balance, mut paid_in) = (RESERVED_PERMITS * PERMIT, 0);
    for (number, trade) in evidence.trades.iter().enumerate() {
        finding.stake_if(matches!(trade, Trade::Sold | Trade::Refused));
        let why = format_args!("trade {number} is {trade:?}, with {balance} hundredths of a permit");
        finding.hold_overall(*trade != Trade::Sold || balance >= PERMIT, why);
        finding.hold_overall(*trade != Trade::Refused || balance < PERMIT, why);
        balance = match trade {
            Trade::PaidIn { answered } => {
                paid_in += *answered as usize;
                balance + answered * PERMITS_IN_PERCENT
            }
            Trade::Sold => balance.saturating_sub(PERMIT),
            Trade::Refused => balance,
            Trade::GivenBack => balance + PERMIT,
        };
        balance = balance.min(MOST_PERMITS * PERMIT);
    }
    let answered: usize = evidence.calls.iter().map(CallEvidence::answered_attempts).sum();
    finding.hold_overall(paid_in == answered, format_args!("{paid_in} answers were paid in, of {answered}"));
    finding
}

fn is_given_up_for_want_of_a_permit(event: &RecoveryEvent) -> bool {
    matches!(event, RecoveryEvent::CallGivenUp { reason: GiveUp::Budget, .. })
}
