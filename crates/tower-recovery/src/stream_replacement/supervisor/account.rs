//! What one call has received and handed out.

use crate::stream_replacement::{DiscardedAttempt, ReplacementBasis, StreamReport, supervision::Sign};

/// What one call has received and handed out.
pub(super) struct Account {
    items: u64,
    bytes: u64,
    handed_out: bool,
    /// A sign of life that the machine has not been told of: it is, once the stream is waited for.
    untold: Option<Sign>,
    discarded: Vec<DiscardedAttempt>,
}

impl Account {
    pub(super) fn new() -> Self {
        Self { items: 0, bytes: 0, handed_out: false, untold: None, discarded: Vec::new() }
    }

    pub(super) fn sign(&mut self, sign: Sign) {
        self.untold = self.untold.max(Some(sign));
    }

    pub(super) fn take_untold(&mut self) -> Option<Sign> {
        self.untold.take()
    }

    /// An item of the current attempt is handed out.
    pub(super) fn count(&mut self, bytes: u64) {
        self.items += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.handed_out = true;
    }

    /// Whether anything was handed out, by this attempt or an earlier one.
    pub(super) fn has_handed_out(&self) -> bool {
        self.handed_out
    }

    /// Items and bytes of the current attempt.
    pub(super) fn received(&self) -> (u64, u64) {
        (self.items, self.bytes)
    }

    /// The current attempt is given up.
    pub(super) fn discard(&mut self, attempt: u32, basis: ReplacementBasis) {
        let (items, bytes) = self.received();
        self.discarded.push(DiscardedAttempt { attempt, basis, items, bytes });
        (self.items, self.bytes, self.untold) = (0, 0, None);
    }

    pub(super) fn report(&self, attempts: u32) -> StreamReport {
        StreamReport { attempts, discarded: self.discarded.clone() }
    }
}
