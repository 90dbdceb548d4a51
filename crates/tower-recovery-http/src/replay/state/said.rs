//! What a copy says of itself.

use http_body::SizeHint;

use super::{Copy, SourceState, State};
use crate::replay::ReplayError;

impl<Source> State<Source> {
    /// Whether this copy, sent now, would be sent whole.
    pub(in crate::replay) fn is_repeatable(&self, copy: Copy) -> bool {
        let unread = copy > self.owner || (copy == self.owner && !self.started);
        unread && self.unrepeatable().is_none()
    }

    pub(in crate::replay) fn size_hint(&self, copy: Copy) -> SizeHint {
        if copy == self.owner {
            return if self.has_ended() { SizeHint::with_exact(0) } else { less(self.at_start.size, self.given_bytes) };
        }
        // What is known of a body that will not come whole could make a transport take it for an empty one.
        if self.is_repeatable(copy) { self.at_start.size } else { SizeHint::default() }
    }

    pub(in crate::replay) fn is_end_stream(&self, copy: Copy) -> bool {
        if copy == self.owner { self.has_ended() } else { self.at_start.is_end && self.is_repeatable(copy) }
    }

    /// Whether the owner has had everything.
    fn has_ended(&self) -> bool {
        let source_at_end = match self.source {
            SourceState::Idle(_) | SourceState::Polled => self.source_at_end,
            SourceState::Ended => true,
            SourceState::Gone(_) => false,
        };
        source_at_end && !self.buffer.has_more() && self.arrived.is_none()
    }

    /// Why a copy from the start cannot be sent.
    pub(super) fn unrepeatable(&self) -> Option<ReplayError> {
        match self.source {
            SourceState::Gone(error) => Some(error),
            _ if self.buffer.is_lost() => Some(ReplayError::NotReplayable { limit: self.buffer.limit() }),
            _ => None,
        }
    }
}

fn less(size: SizeHint, given: u64) -> SizeHint {
    let mut rest = SizeHint::new();
    rest.set_lower(size.lower().saturating_sub(given));
    if let Some(upper) = size.upper() {
        rest.set_upper(upper.saturating_sub(given));
    }
    rest
}
