//! What happens after a failed attempt. Pure: no futures, no clock.

use crate::{Access, Delivery, Verdict};

/// What the attempts of one call have come to so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    attempts: u32,
    may_have_executed: bool,
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Send it once more.
    Repeat { silenced: bool },
    /// Nothing proves that it may be sent again.
    Final,
    /// It might be sent again, but the attempts are spent, here or by a retry layer below.
    Exhausted,
}

impl Ledger {
    /// The first attempt has been sent.
    pub(super) fn first() -> Self {
        Self { attempts: 1, may_have_executed: false }
    }

    pub(super) fn attempts(self) -> u32 {
        self.attempts
    }

    /// A retry layer below has sent so many more, and failed.
    pub(super) fn count_below(&mut self, further: u32) {
        self.attempts = self.attempts.saturating_add(further);
    }

    /// A further attempt has been sent.
    pub(super) fn count(&mut self) {
        self.attempts += 1;
    }

    /// An attempt has failed; decides what follows, with `attempts` as the cap of the call.
    pub(super) fn decide(
        &mut self,
        verdict: Verdict,
        access: Access,
        exhausted_below: bool,
        attempts: u32,
    ) -> Decision {
        let repeatable = match verdict.delivery() {
            Some(Delivery::NeverSent | Delivery::Refused) => true,
            Some(Delivery::MaybeSent) => {
                self.may_have_executed = true;
                access.is_repeatable()
            }
            Some(Delivery::Answered) | None => false,
        };
        if !repeatable || verdict.is_permanent() {
            Decision::Final
        } else if exhausted_below || self.attempts >= attempts {
            Decision::Exhausted
        } else {
            // Once due, silence stays: the counter cannot tell which of the attempts reached it.
            Decision::Repeat { silenced: self.may_have_executed && access == Access::SilentRead }
        }
    }

    /// What the call as a whole proves, whose last attempt gave this verdict: one attempt that may have executed is enough.
    pub(super) fn conclude(self, last: Verdict) -> Verdict {
        if self.may_have_executed && last.delivery().is_none_or(Delivery::is_send_side) {
            last.with_delivery(Delivery::MaybeSent)
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests;
