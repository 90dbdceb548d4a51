//! What the reader must get, and gets.

use tower_recovery::{Delivery, StreamMode};

use super::{Oracle, Stage};
use crate::{
    protocol::{Head, Item, PREAMBLE_LIMIT, Part},
    record::{Out, Outcome, broken},
    script::Admission,
};

impl Oracle {
    pub(super) fn reader_is_due_head(&mut self, head: Head) {
        let report = self.report();
        match self.setup.admission {
            Admission::Whole { .. } => {
                self.head = Some(head);
                self.holds_nothing();
            }
            Admission::Marked if !self.reader_has_head => {
                self.reader_has_head = true;
                self.outs.push_back(Out::Opened { head, report });
            }
            Admission::Marked => {
                self.stakes.meets("law 7: begun anew");
                self.outs.push_back(Out::Restarted { head, report });
            }
            Admission::UntilFirstItem | Admission::Resumed => {
                if self.reader_has_head {
                    self.stakes.meets("law 7: resumed");
                } else {
                    self.head = Some(head);
                    self.holds_nothing();
                    self.reader_gets_head(!self.is_watched());
                }
            }
        }
    }

    /// The first item brings the head along; what nobody watches does not wait for it.
    fn reader_gets_head(&mut self, now: bool) {
        if !now || self.reader_has_head {
            return;
        }
        self.reader_has_head = true;
        let head = self.head.expect("a stream has its head before its items");
        self.outs.push_back(Out::Opened { head, report: self.report() });
        self.held_bytes = 0;
        self.outs.extend(self.held.drain(..).map(Out::Item));
    }

    pub(super) fn holds_nothing(&mut self) {
        self.held_bytes = 0;
        self.held.clear();
    }

    pub(super) fn reader_is_due_item(&mut self, item: Item) {
        match self.setup.admission {
            Admission::Whole { limit } => {
                self.held_bytes += item.held_bytes();
                if self.held_bytes > limit {
                    self.stakes.meets("law 7: too long");
                    self.cancels_the_probe();
                    self.stage = Stage::Over;
                    self.reader_is_due_failure(too_long(self.attempt + self.further_below));
                } else {
                    self.held.push(item);
                }
            }
            Admission::Marked => self.outs.push_back(Out::Item(item)),
            Admission::UntilFirstItem if !self.reader_has_head && matches!(item.part, Part::Preamble { .. }) => {
                self.preamble(item);
            }
            Admission::UntilFirstItem | Admission::Resumed => {
                if !self.held.is_empty() {
                    self.stakes.meets("law 7: a preamble before the first item");
                }
                self.reader_gets_head(true);
                self.committed |= self.setup.admission == Admission::UntilFirstItem;
                self.outs.push_back(Out::Item(item));
            }
        }
    }

    /// What commits to nothing is held back, until it is too much.
    fn preamble(&mut self, item: Item) {
        self.held_bytes += item.held_bytes();
        self.held.push(item);
        if self.held_bytes > PREAMBLE_LIMIT {
            self.stakes.meets("law 7: a preamble that is too long");
            self.reader_gets_head(true);
            self.committed = true;
        }
    }

    pub(super) fn reader_is_due_end(&mut self) {
        if let Admission::Whole { .. } = self.setup.admission {
            let head = self.head.expect("a stream has its head before its end");
            let items = std::mem::take(&mut self.held);
            if self.attempt > 1 && !items.is_empty() {
                self.stakes.meets("law 7: whole, of a replacement");
            }
            self.outs.push_back(Out::Whole { head, items, report: self.report() });
        } else {
            if !self.held.is_empty() {
                self.stakes.meets("law 7: nothing but a preamble");
            }
            self.reader_gets_head(true);
            self.outs.push_back(Out::End);
        }
    }

    pub(super) fn reader_is_due_failure(&mut self, outcome: Outcome) {
        self.outs.push_back(Out::Failed(outcome));
    }

    pub(super) fn reader_gets(&mut self, out: Out) {
        self.signs = 0;
        self.nothing_is_owed();
        let due = self.outs.pop_front();
        if due.as_ref() != Some(&out) {
            broken(law_of(&out, due.as_ref()), format_args!("got {out:?} and not {due:?}"));
        }
        self.over = matches!(out, Out::Failed(_) | Out::End | Out::Whole { .. });
        if let Out::Failed(Outcome { delivery: Some(Delivery::Answered), too_long: false, .. }) = out {
            self.stakes.meets("law 4: a failure that is an answer");
        }
        if self.setup.mode == StreamMode::Disabled {
            self.stakes.meets("disabled");
        }
    }

    pub(super) fn reader_waits(&mut self) {
        self.signs = 0;
        self.watch_waits();
        self.nothing_is_owed();
        if let Some(due) = self.outs.front() {
            broken("law 7, what came is handed out", format_args!("{due:?} is not"));
        }
        if self.watch.must_have_cancelled() {
            broken("silence, a sign of life cancels the probe", format_args!("{self:?}"));
        }
        let is_under_way = matches!(self.stage, Stage::Calling | Stage::Streaming | Stage::Readying);
        if is_under_way && self.watch.is_timed() && self.watch.next().is_some_and(|due| self.now >= due) {
            broken("silence, nobody acts on it in time", format_args!("at {:?}: {self:?}", self.now));
        }
    }

    fn watch_waits(&mut self) {
        let is_under_way = matches!(self.stage, Stage::Calling | Stage::Streaming | Stage::Readying);
        if is_under_way && self.watch.is_timed() {
            self.watch.waits(self.now, &mut self.stakes);
        }
    }

    /// The reader goes away: what is at stake is where.
    pub(crate) fn is_about_to_leave(&mut self) {
        let place = match self.stage {
            Stage::Calling => "law 9: left while calling",
            Stage::Streaming => "law 9: left while streaming",
            Stage::Pausing { .. } => "law 9: left in the pause",
            Stage::Readying => "law 9: left while readying",
            Stage::Over => return,
        };
        self.stakes.meets(place);
        match self.watch.phase_name() {
            "probing" => self.stakes.meets("law 9: left during a probe"),
            "grace" => self.stakes.meets("law 9: left in the grace"),
            _ => {}
        }
    }

    /// Nothing is open once the reader has gone away, or has its end.
    pub(crate) fn all_is_closed(&self) {
        if !self.nothing_is_open() {
            broken("law 9, who goes away closes everything", format_args!("{self:?}"));
        }
    }

    pub(crate) fn reports(&self, report: &crate::record::Report) {
        if *report != self.report() {
            broken("law 8, the account", format_args!("{report:?} and not {:?}", self.report()));
        }
    }
}

fn too_long(attempts: u32) -> Outcome {
    Outcome {
        delivery: Some(Delivery::Answered),
        permanent: true,
        attempts,
        gave_up: None,
        unsent: false,
        broken: None,
        partial: None,
        fault: None,
        not_ready: false,
        not_resumed: false,
        too_long: true,
    }
}

fn law_of(got: &Out, due: Option<&Out>) -> &'static str {
    match (got, due) {
        (Out::Failed(_), Some(Out::Failed(_))) => "the report: what the failure says",
        (_, None) => "law 7 or fused, nothing comes that was not due",
        (Out::Failed(_), _) | (_, Some(Out::Failed(_))) => "law 4, 7 or 8, how it ends",
        _ => "law 7, one result",
    }
}
