//! What the layer does below: attempts begin, end, and are closed.

use tower_recovery::{Delivery, stream_replacement::ReplacementBasis};

use super::{Oracle, Stage, endings::Cause};
use crate::{
    protocol::{COMPLETE, Head, Item, Method, Part},
    record::{Gave, Seen, Word, broken},
    script::Opening,
};

impl Oracle {
    pub(super) fn is_readied(&mut self) {
        if self.calls == 0 {
            return;
        }
        let Stage::Pausing { since, pause } = self.stage else {
            broken("law 1, nothing is begun that nothing asked for", format_args!("{self:?}"));
        };
        if self.now < since + pause {
            broken("law 11, the pause before a replacement", format_args!("at {:?}: {self:?}", self.now));
        }
        self.law_9_who_has_left_starts_nothing();
        self.law_7_the_old_attempt_is_closed();
        self.stage = Stage::Readying;
        self.watch.starts(self.now);
    }

    pub(super) fn is_called(&mut self, silent: Option<bool>, from: Option<u32>) {
        self.calls += 1;
        if self.stage != Stage::Readying {
            broken("law 1, nothing is begun that nothing asked for", format_args!("{self:?}"));
        }
        self.law_9_who_has_left_starts_nothing();
        self.law_7_the_old_attempt_is_closed();
        self.law_1_within_the_budget();
        self.law_3_silent_if_and_only_if_it_may_have_executed(silent);
        let due = (self.is_resumed() && self.has_handed_out).then_some(self.next_part);
        if from != due {
            broken("law 7, the rest is asked for", format_args!("from {from:?} and not {due:?}"));
        }
        self.must_call = false;
        if self.watch.is_probing() {
            broken("silence, who is sent something has its time", format_args!("{self:?}"));
        }
        if self.calls > 1 {
            self.watch.starts(self.now);
        }
        self.stage = Stage::Calling;
        self.call_is_open = true;
        self.sent_in_doubt = false;
        self.parts = 0;
        self.refused = None;
        self.request = self.setup.copyable && self.refusal().is_none();
    }

    /// Before it is sent the request is copied for a replacement, if there may be one.
    pub(super) fn is_copied(&self) {
        if self.stage == Stage::Readying && self.refusal().is_some() {
            broken("law 12, nothing is copied for nothing", format_args!("{self:?}"));
        }
    }

    fn law_1_within_the_budget(&mut self) {
        if self.calls == 1 {
            return;
        }
        self.stakes.meets("law 1: a replacement");
        let may = !self.settled && !self.committed && self.calls <= 1 + self.setup.max_replacements;
        if !may || self.setup.mode != tower_recovery::StreamMode::RetryOnHealthyProbe {
            broken("law 1, at most so many calls", format_args!("call {}: {self:?}", self.calls));
        }
    }

    fn law_3_silent_if_and_only_if_it_may_have_executed(&mut self, silent: Option<bool>) {
        let can_be = self.setup.method == Method::SilentRead;
        let silenced = self.may_have_run && can_be;
        let due = self.setup.silent.or_else(|| silenced.then_some(true));
        if silent != due {
            broken("law 3, silence", format_args!("call {} with {silent:?} and not {due:?}", self.calls));
        }
        if self.calls > 1 && can_be && self.setup.silent.is_none() {
            self.stakes.meets(if silenced { "law 3: silenced" } else { "law 3: not silenced" });
        }
    }

    fn law_7_the_old_attempt_is_closed(&self) {
        if !self.nothing_is_open() {
            broken("law 7, the old attempt is closed before the new one", format_args!("{self:?}"));
        }
    }

    fn law_9_who_has_left_starts_nothing(&self) {
        if self.left || self.over {
            broken("law 9, who has left starts nothing", format_args!("{self:?}"));
        }
    }

    pub(super) fn is_sent(&mut self, send: u32) {
        if !self.call_is_open || !self.sends.is_empty() {
            broken("law 1, one sending at a time", format_args!("sending {send}: {self:?}"));
        }
        if self.sent_in_doubt {
            broken("law 1, below only what did not execute is sent again", format_args!("sending {send}"));
        }
        self.law_9_who_has_left_starts_nothing();
        self.sends.push(send);
    }

    pub(super) fn send_ended(&mut self, send: u32, opening: Opening) {
        self.sends.retain(|open| *open != send);
        self.sent_in_doubt |= match opening {
            Opening::Stream { .. } | Opening::Verdict => true,
            Opening::RefusedBy => false,
            Opening::Fails { kind, .. } => kind.may_have_run(),
        };
        if let Opening::Fails { .. } = opening {
            return;
        }
        self.streams.push(send);
        self.refused = matches!(opening, Opening::RefusedBy).then_some(Head { send, verdict: true, from: None });
    }

    pub(super) fn call_ended(&mut self, outcome: Result<Head, Seen>) {
        self.call_is_open = false;
        match outcome {
            Ok(head) => self.opens(head),
            Err(seen) => {
                self.further_below += seen.attempts.saturating_sub(1);
                let refused = self.refused.take().filter(|_| seen.fault.is_none());
                self.ends(Cause::Call { seen, refused });
            }
        }
    }

    /// A response goes out as a stream.
    pub(super) fn opens(&mut self, head: Head) {
        self.stage = Stage::Streaming;
        if head.verdict {
            self.stakes.meets("law 4: a response that is a verdict");
            self.settles();
        }
        self.watch.sign(Part::Content);
        if self.is_resumed() && self.has_handed_out && head.from != Some(self.next_part) {
            self.stakes.meets("law 7: a response that is not the rest");
            self.ends(Cause::NotResumed);
            return;
        }
        self.reader_is_due_head(head);
    }

    /// The other side has given its verdict: nothing is watched any more.
    pub(super) fn settles(&mut self) {
        self.settled = true;
        self.cancels_the_probe();
        self.watch.settles();
    }

    pub(super) fn call_dropped(&mut self) {
        self.call_is_open = false;
        if !self.left && !matches!(self.stage, Stage::Over | Stage::Pausing { .. }) {
            broken("silence, an attempt that may still give something is dropped", format_args!("{self:?}"));
        }
    }

    pub(super) fn stream_dropped(&mut self, send: u32) {
        let is_current = self.streams.last() == Some(&send) && self.stage == Stage::Streaming;
        if is_current && !self.left {
            broken("silence, a stream that may still give something is dropped", format_args!("{self:?}"));
        }
        self.streams.retain(|open| *open != send);
    }

    pub(super) fn gave(&mut self, send: u32, what: Gave) {
        if self.stage != Stage::Streaming || self.streams.last() != Some(&send) {
            broken("law 7, nothing of a closed attempt is taken", format_args!("of {send}: {self:?}"));
        }
        match what {
            Gave::Item(item) => self.gave_item(item),
            Gave::End if !self.is_watched() || (self.setup.counts && self.parts >= COMPLETE) => self.completes(),
            Gave::End => self.ends(Cause::Incomplete),
            Gave::Error(kind) => self.ends(Cause::Stream { send, kind }),
        }
    }

    fn gave_item(&mut self, item: Item) {
        let is_watched = self.is_watched();
        if is_watched {
            self.watch.sign(item.part);
            self.parts += u32::from(item.is_of_the_result());
            if matches!(item.part, Part::KeepAlive | Part::Progress) {
                self.signs += 1;
                return;
            }
            if self.is_resumed() && item.part != Part::Verdict {
                if item.place != self.next_part {
                    self.stakes.meets("law 7: an item that does not continue");
                    self.ends(Cause::NotResumed);
                    return;
                }
                self.next_part += 1;
            }
        } else {
            self.watch.sign(Part::Content);
        }
        self.items += 1;
        self.bytes += item.bytes();
        self.has_handed_out = true;
        if is_watched && matches!(item.part, Part::Terminal | Part::Verdict) {
            if item.part == Part::Verdict {
                self.stakes.meets("law 4: an item that is a verdict");
            }
            self.reader_is_due_item(item);
            self.completes();
        } else {
            self.reader_is_due_item(item);
        }
    }

    /// The stream has come to its end.
    fn completes(&mut self) {
        if self.stage == Stage::Over {
            return;
        }
        self.stage = Stage::Over;
        self.cancels_the_probe();
        self.reader_is_due_end();
    }

    pub(super) fn is_not_ready(&mut self) {
        if self.stage == Stage::Readying && self.calls > 0 {
            self.ends(Cause::NotReady);
        }
    }

    /// What a call that failed so has proven.
    pub(super) fn proves(&mut self, delivery: Option<Delivery>) {
        self.may_have_run |= !delivery.is_some_and(Delivery::is_send_side);
    }

    pub(super) fn closes_for_another(&mut self, basis: ReplacementBasis) {
        self.cancels_the_probe();
        self.proposed = Some(basis);
        self.words.push(Word::Proposed { basis, twice: self.may_have_run });
        self.discarded.push((self.attempt, basis, self.items, self.bytes));
        self.stage = Stage::Pausing { since: self.now, pause: std::time::Duration::MAX / 4 };
        (self.items, self.bytes) = (0, 0);
        self.holds_nothing();
    }
}
