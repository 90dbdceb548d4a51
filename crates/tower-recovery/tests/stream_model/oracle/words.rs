//! What the layer says must agree with what it does.

use std::time::Duration;

use tower_recovery::stream_replacement::{PreservedBecause, StreamEnd};

use super::{Oracle, Stage, endings::Cause};
use crate::{
    protocol::Method,
    record::{Untaken, Word, broken},
};

/// So many signs of life in one go, and others have their turn.
const MOST_SIGNS: u32 = 64;
/// By this much a replacement waits longer than the one before.
const STEP: Duration = Duration::from_secs(5);

impl Oracle {
    pub(super) fn said(&mut self, attempt: u32, word: Word) {
        if attempt != self.attempt {
            broken("law 8, attempts are counted", format_args!("{word:?} of {attempt}, but it is {}", self.attempt));
        }
        if let Some(due) = self.words.iter().position(|due| *due == word) {
            self.words.remove(due);
            if let Word::Proposed { .. } = word {
                self.proposed = None;
                self.stage = Stage::Pausing { since: self.now, pause: Duration::ZERO };
            }
            return;
        }
        match word {
            Word::Started { silenced } => {
                let due = self.may_have_run && self.setup.method == Method::SilentRead;
                if silenced != due {
                    broken("law 3, silence", format_args!("it is said to be silenced: {silenced}"));
                }
            }
            Word::ProbeStarted { round } => self.watch.probe_started(round, self.now, &mut self.stakes),
            Word::Preserved(PreservedBecause::NoProbe) => self.watch.is_preserved(self.now, &mut self.stakes),
            Word::Abandoned { items, bytes } => {
                self.watch.is_abandoned(self.now, &mut self.stakes);
                self.counts_are(items, bytes);
                self.stakes.meets("silence: a silent attempt is given up");
                self.ends(Cause::Silent(StreamEnd::Silent));
            }
            Word::ProbeCancelled => self.watch.is_cancelled_before_its_call(self.now, &mut self.stakes),
            Word::Pause(pause) => self.pauses(pause),
            word => broken(law_of(&word), format_args!("{word:?} is not due, but {:?}", self.words)),
        }
    }

    /// What is there ends a silence before anybody acts on it; only a flood of signs has to wait.
    pub(super) fn items_come_before_timers(&self, word: &Word, untaken: Untaken) {
        let acts = matches!(word, Word::ProbeStarted { .. } | Word::Abandoned { .. } | Word::Preserved(_));
        let is_there = match self.stage {
            Stage::Calling => untaken.answer,
            Stage::Streaming => untaken.item,
            _ => false,
        };
        if acts && is_there && self.signs < MOST_SIGNS {
            broken("silence, items come before timers", format_args!("{word:?}: {self:?}"));
        }
    }

    fn counts_are(&self, items: u64, bytes: u64) {
        if (items, bytes) != (self.items, self.bytes) {
            let due = (self.items, self.bytes);
            broken("law 8, items and bytes are counted", format_args!("{items}, {bytes} and not {due:?}"));
        }
    }

    fn pauses(&mut self, pause: Duration) {
        let whole = (STEP * self.attempt).min(self.times.grace);
        let Stage::Pausing { since, .. } = self.stage else {
            broken("law 11, the pause before a replacement", "nothing is replaced");
        };
        if pause > whole || pause < whole / 2 {
            broken("law 11, the pause before a replacement", format_args!("{pause:?} of {whole:?}"));
        }
        self.stage = Stage::Pausing { since, pause };
        self.attempt += 1;
    }
}

/// Which law speaks of a word that is not due, or was not said.
pub(super) fn law_of(word: &Word) -> &'static str {
    match word {
        Word::Started { .. } => "law 3, silence",
        Word::Exhausted | Word::Proposed { .. } | Word::Pause(_) => "law 1 or 8, what is replaced",
        _ => "silence, what is reported",
    }
}
