//! What becomes of an attempt that is over: another one, or the end of the stream.

use tower_recovery::{
    Delivery, GiveUp, StreamMode,
    stream_replacement::{ReplacementBasis, StreamEnd},
};

use super::{Oracle, Stage};
use crate::{
    faults::{Fault, Kind},
    protocol::Head,
    record::{Outcome, Seen, Word},
    script::Admission,
};

/// Why an attempt is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause {
    /// Its call failed, with a response if it is a refusal that is one.
    Call {
        seen: Seen,
        refused: Option<Head>,
    },
    NotReady,
    Stream {
        send: u32,
        kind: Kind,
    },
    Incomplete,
    /// It was given up, or its route is.
    Silent(StreamEnd),
    NotResumed,
}

/// Why there may be no other attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Settled,
    Mode,
    Committed,
    Spent,
}

impl Oracle {
    pub(super) fn refusal(&self) -> Option<Refusal> {
        if self.settled {
            Some(Refusal::Settled)
        } else if self.setup.mode != StreamMode::RetryOnHealthyProbe {
            Some(Refusal::Mode)
        } else if self.committed {
            Some(Refusal::Committed)
        } else if self.attempt > self.setup.max_replacements {
            Some(Refusal::Spent)
        } else {
            None
        }
    }

    pub(super) fn ends(&mut self, cause: Cause) {
        let has_opened = self.stage == Stage::Streaming;
        // A stream that was opened has executed, whatever broke it; an instance that is not ready was sent nothing.
        match cause {
            Cause::Call { seen, .. } => self.proves(seen.delivery),
            Cause::Silent(_) if self.stage == Stage::Readying => self.stakes.meets("law 3: silent, and never sent"),
            Cause::NotReady => {}
            Cause::Stream { .. } | Cause::Incomplete | Cause::Silent(_) | Cause::NotResumed => {
                self.may_have_run = true;
            }
        }
        let may = self.may_be_replaced(cause);
        let refusal = self.refusal();
        if may && refusal.is_none() {
            let handed_back = matches!(cause, Cause::Call { seen, .. } if seen.unsent);
            let has_request = self.request || handed_back;
            let can_ask = !(self.is_resumed() && self.has_handed_out) || self.setup.resumable;
            if has_request && can_ask {
                self.request = true;
                return self.is_replaced(cause);
            }
            self.stakes.meets("law 2: there is no request");
            if has_request && matches!(cause, Cause::Call { .. } | Cause::Stream { .. }) {
                self.stakes.meets("law 7: the rest of what failed cannot be asked for");
            }
            return self.ends_for_good(cause, has_opened, Some(GiveUp::NoRequest), has_request);
        }
        let spent = may && refusal == Some(Refusal::Spent);
        if may {
            self.stakes.meets(match refusal {
                Some(Refusal::Settled) => "law 1: not after a verdict",
                Some(Refusal::Mode) => "law 1: not in this mode",
                Some(Refusal::Committed) => "law 1: not after the first item",
                _ => "law 1: not beyond the budget",
            });
        }
        if spent {
            self.words.push(Word::Exhausted);
        }
        self.ends_for_good(cause, has_opened, spent.then_some(GiveUp::Attempts), false);
    }

    fn may_be_replaced(&self, cause: Cause) -> bool {
        let by_transport = |delivery: Option<Delivery>, permanent: bool, gave_up: Option<GiveUp>| {
            let sent = delivery == Some(Delivery::MaybeSent);
            let spent = match gave_up {
                // What provably did not execute is tried once more, later and out of this budget.
                Some(GiveUp::Attempts) => sent,
                Some(GiveUp::Budget | GiveUp::Deadline) => true,
                _ => false,
            };
            delivery.is_some_and(|delivery| delivery != Delivery::Answered) && !permanent && !spent
        };
        match cause {
            Cause::Call { seen, .. } => by_transport(seen.delivery, seen.permanent, seen.gave_up),
            Cause::Stream { kind, .. } => {
                by_transport(of_a_broken_answer(kind), kind.verdict().is_permanent(), kind.gave_up())
            }
            Cause::NotReady | Cause::Incomplete => true,
            // A silence proves nothing where nobody says that the route works.
            Cause::Silent(StreamEnd::Silent) => self.setup.probed,
            Cause::Silent(_) | Cause::NotResumed => false,
        }
    }

    fn is_replaced(&mut self, cause: Cause) {
        let basis = match cause {
            Cause::Silent(_) => ReplacementBasis::HealthySideCallAndNoActivityThroughGrace,
            _ => ReplacementBasis::RetryableTransportFailure,
        };
        if self.discarded.iter().any(|(_, other, ..)| *other != basis) {
            self.stakes.meets("law 8: failed and silent attempts share the budget");
        }
        if self.items > 0 {
            self.stakes.meets("law 7: replaced after items");
        }
        if matches!(cause, Cause::Call { refused: Some(_), .. }) {
            self.stakes.meets("law 4: a refusal is repeated");
        }
        if !self.held.is_empty() && self.setup.admission == Admission::UntilFirstItem {
            self.stakes.meets("law 1: replaced after a preamble");
        }
        if matches!(cause, Cause::Call { seen, .. } if seen.gave_up == Some(GiveUp::Attempts)) {
            self.stakes.meets("law 8: what was spent below is replaced");
        }
        self.closes_for_another(basis);
    }

    fn ends_for_good(&mut self, cause: Cause, has_opened: bool, gave_up: Option<GiveUp>, not_asked: bool) {
        self.cancels_the_probe();
        if let Cause::Call { refused: Some(head), .. } = cause {
            // A refusal that is not repeated any more is an answer.
            self.stakes.meets("law 4: a refusal goes out as the response that it is");
            return self.opens(head);
        }
        let outcome = self.outcome(cause, has_opened, gave_up, not_asked);
        if self.further_below > 0 {
            self.stakes.meets("law 8: attempts below are counted");
        }
        if outcome.partial.as_ref().is_some_and(Vec::is_empty) && self.discarded.iter().any(|(.., items, _)| *items > 0)
        {
            self.stakes.meets("law 7: nothing of an earlier attempt is a part");
        }
        self.stage = Stage::Over;
        self.reader_is_due_failure(outcome);
    }

    fn outcome(&self, cause: Cause, has_opened: bool, gave_up: Option<GiveUp>, not_asked: bool) -> Outcome {
        let fault = match cause {
            Cause::Call { seen, .. } => seen.fault,
            Cause::Stream { send, kind } => Some(Fault { send, kind }),
            _ => None,
        };
        let (delivery, permanent, below) = match cause {
            Cause::Call { seen, .. } => (seen.delivery, seen.permanent, seen.gave_up),
            Cause::Stream { kind, .. } => (of_a_broken_answer(kind), kind.verdict().is_permanent(), kind.gave_up()),
            Cause::NotReady => (Some(Delivery::NeverSent), false, None),
            Cause::Silent(_) if self.settled => (Some(Delivery::Answered), false, None),
            Cause::Silent(_) if !self.may_have_run => (Some(Delivery::NeverSent), false, None),
            Cause::Incomplete | Cause::Silent(_) => (Some(Delivery::MaybeSent), false, None),
            Cause::NotResumed => (Some(Delivery::MaybeSent), true, None),
        };
        let is_transport = delivery.is_some_and(|delivery| delivery != Delivery::Answered);
        let is_the_first = self.attempt == 1 && !has_opened;
        let reason = match cause {
            Cause::Call { .. } | Cause::NotReady | Cause::Stream { .. } => StreamEnd::Dropped,
            Cause::Incomplete => StreamEnd::Incomplete,
            Cause::Silent(end) => end,
            Cause::NotResumed => StreamEnd::NotResumed,
        };
        let as_it_is = match cause {
            Cause::Call { .. } | Cause::Stream { .. } => is_the_first || !is_transport || !self.is_watched(),
            _ => false,
        };
        let broken = (!as_it_is).then(|| (reason, self.report()));
        Outcome {
            delivery: match cause {
                Cause::Silent(_) if self.settled => delivery,
                _ if !as_it_is && self.may_have_run => Some(Delivery::MaybeSent),
                _ => delivery,
            },
            permanent,
            attempts: self.attempt + self.further_below,
            gave_up: gave_up.or(below),
            unsent: as_it_is && matches!(cause, Cause::Call { seen, .. } if seen.unsent),
            partial: (broken.is_some() && matches!(self.setup.admission, Admission::Whole { .. }))
                .then(|| self.held.clone()),
            broken,
            fault,
            not_ready: match cause {
                Cause::Call { seen, .. } => seen.not_ready,
                _ => matches!(cause, Cause::NotReady),
            },
            not_resumed: not_asked || matches!(cause, Cause::NotResumed),
            too_long: false,
        }
    }
}

/// What breaks an answer that had begun proves of no request that it was not sent.
fn of_a_broken_answer(kind: Kind) -> Option<Delivery> {
    kind.verdict().delivery().map(|delivery| if delivery.is_send_side() { Delivery::MaybeSent } else { delivery })
}
