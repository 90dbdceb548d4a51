//! Every combination, and every order of deliveries up to the fifth attempt.

use super::*;

const ACCESSES: [Access; 4] = [Access::Write, Access::IdempotentWrite, Access::Read, Access::SilentRead];

fn verdict(delivery: Option<Delivery>) -> Verdict {
    match delivery {
        Some(delivery) => Verdict::unrecognised().with_delivery(delivery),
        None => Verdict::unrecognised(),
    }
}

const DELIVERIES: [Option<Delivery>; 5] =
    [Some(Delivery::NeverSent), Some(Delivery::Refused), Some(Delivery::MaybeSent), Some(Delivery::Answered), None];

/// All lists of deliveries of this length.
fn orders(length: usize) -> Vec<Vec<Option<Delivery>>> {
    if length == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(length - 1);
    DELIVERIES.iter().flat_map(|first| shorter.iter().map(|rest| [&[*first], rest.as_slice()].concat())).collect()
}

#[test]
fn over_every_order_of_deliveries_only_proof_is_acted_on() {
    const CAP: u32 = 4;
    for access in ACCESSES {
        for order in orders(5) {
            let mut ledger = Ledger::first();
            let mut maybe_sent = false;
            for (attempt, delivery) in (1..).zip(&order) {
                let decision = ledger.decide(verdict(*delivery), access, false, CAP);
                maybe_sent |= *delivery == Some(Delivery::MaybeSent);
                let may_repeat = match delivery {
                    Some(Delivery::NeverSent | Delivery::Refused) => true,
                    Some(Delivery::MaybeSent) => access != Access::Write,
                    Some(Delivery::Answered) | None => false,
                };
                let expected = match (may_repeat, attempt < CAP) {
                    (true, true) => Decision::Repeat { silenced: maybe_sent && access == Access::SilentRead },
                    (true, false) => Decision::Exhausted,
                    (false, _) => Decision::Final,
                };
                assert_eq!(decision, expected, "{access:?}, attempt {attempt} of {order:?}");
                if !matches!(decision, Decision::Repeat { .. }) {
                    break;
                }
                ledger.count();
                assert_eq!(ledger.attempts(), attempt + 1);
            }
        }
    }
}

#[test]
fn silence_once_due_stays_whatever_the_attempts_after_it_prove() {
    let mut ledger = Ledger::first();
    let mut silenced = |verdict| ledger.decide(verdict, Access::SilentRead, false, 9);
    assert_eq!(
        silenced(Verdict::never_sent()),
        Decision::Repeat { silenced: false },
        "nothing may have been counted yet"
    );
    for verdict in [Verdict::maybe_sent(), Verdict::never_sent(), Verdict::refused()] {
        assert_eq!(silenced(verdict), Decision::Repeat { silenced: true }, "{verdict:?}");
    }
}

#[test]
fn a_permanent_cause_ends_the_call_at_once() {
    for access in ACCESSES {
        for delivery in DELIVERIES {
            let decision = Ledger::first().decide(verdict(delivery).permanent(), access, false, 3);
            assert_eq!(decision, Decision::Final, "{access:?} {delivery:?}");
        }
    }
}

#[test]
fn what_a_retry_below_has_spent_is_not_spent_again() {
    let decision = Ledger::first().decide(Verdict::never_sent(), Access::Read, true, 3);
    assert_eq!(decision, Decision::Exhausted);
    let decision = Ledger::first().decide(Verdict::maybe_sent(), Access::Write, true, 3);
    assert_eq!(decision, Decision::Final, "it would not have been repeated anyway");
}

#[test]
fn one_attempt_that_may_have_executed_speaks_for_the_whole_call() {
    for last in DELIVERIES {
        let fresh = Ledger::first();
        assert_eq!(fresh.conclude(verdict(last)), verdict(last), "without such an attempt the last one speaks");

        let mut ledger = Ledger::first();
        ledger.decide(Verdict::maybe_sent(), Access::Read, false, 3);
        let expected = match last {
            Some(Delivery::Answered) => Delivery::Answered,
            _ => Delivery::MaybeSent,
        };
        let concluded = ledger.conclude(verdict(last).stale());
        assert_eq!(concluded, Verdict::unrecognised().with_delivery(expected).stale());
    }
}

#[test]
fn what_a_retry_below_has_sent_counts_against_the_cap() {
    let mut ledger = Ledger::first();
    ledger.count_below(1);
    assert_eq!(ledger.attempts(), 2);
    assert_eq!(ledger.decide(Verdict::never_sent(), Access::Write, false, 3), Decision::Repeat { silenced: false });
    ledger.count_below(u32::MAX);
    assert_eq!(ledger.attempts(), u32::MAX, "no count overflows");
    assert_eq!(ledger.decide(Verdict::never_sent(), Access::Write, false, 3), Decision::Exhausted);
}
