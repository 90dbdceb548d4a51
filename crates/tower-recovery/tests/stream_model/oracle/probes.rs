//! What becomes of the probes of a silent stream.

use tower_recovery::stream_replacement::StreamEnd;

use super::{Oracle, Stage, endings::Cause};
use crate::{record::Word, script::Health};

impl Oracle {
    pub(super) fn probe_ended(&mut self, health: Health) {
        if let Some(end) = self.watch.probe_ended(health, self.now, &mut self.words, &mut self.stakes) {
            self.is_unreachable(end);
        }
        self.stakes.meets(if health == Health::Healthy { "silence: healthy" } else { "silence: not healthy" });
    }

    pub(super) fn probe_dropped(&mut self) {
        if self.left || matches!(self.stage, Stage::Over | Stage::Pausing { .. }) || self.settled {
            self.watch.probe_is_gone();
        } else if self.must_call {
            // What was silent was the instance; the attempt begins.
            self.cancels_the_probe();
            self.watch.probe_is_gone();
            self.stakes.meets("silence: ready during the probe");
        } else if let Some(end) = self.watch.probe_dropped(self.now, &mut self.words, &mut self.stakes) {
            self.is_unreachable(end);
        }
    }

    fn is_unreachable(&mut self, end: StreamEnd) {
        self.stakes.meets("silence: three probes without an answer");
        self.words.push(Word::Abandoned { items: self.items, bytes: self.bytes });
        self.words.push(Word::Unreachable);
        self.ends(Cause::Silent(end));
    }

    pub(super) fn cancels_the_probe(&mut self) {
        if self.watch.is_probing() {
            self.words.push(Word::ProbeCancelled);
        }
        self.watch.ends();
    }
}
