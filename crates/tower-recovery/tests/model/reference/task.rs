//! What the reference knows of one call.

use tower_recovery::Verdict;

use super::{attempt::Attempt, cache::Found};
use crate::{
    protocol::{End, Method, Reply},
    record::Cause,
};

/// What the caller asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) method: Method,
    pub(crate) silent: Option<bool>,
    pub(crate) copyable: bool,
    /// Through which clone of the stack.
    pub(crate) clone: usize,
}

/// A call, or a refresh.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: u32,
    pub(super) phase: Phase,
    /// It was not polled since it was made, or passed on by the buffer.
    pub(super) fresh: bool,
    pub(super) spec: Spec,
    pub(super) attempts: u32,
    pub(super) may_have_executed: bool,
    pub(super) silenced: bool,
    /// Whether there is a request to send once more.
    pub(super) request: bool,
    pub(super) last: Option<Failed>,
    pub(super) permit: bool,
    pub(super) ends: Option<u64>,
    /// Whether it was pending once: only then is it woken for its deadline.
    pub(super) pending: bool,
}

#[derive(Debug)]
pub(super) enum Phase {
    Queued,
    Readying {
        asked: bool,
    },
    Attempt(Attempt),
    Renewing {
        failed_on: Found,
        waiting: Option<usize>,
    },
    Pausing {
        earliest: u64,
        latest: u64,
    },
    /// It asks for a look-up when it is polled for the first time.
    Refreshing {
        waiting: Option<usize>,
    },
}

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) verdict: Verdict,
    pub(super) cause: Cause,
    pub(super) response: Option<Reply>,
    pub(super) handed_back: bool,
    pub(super) lease: Option<Found>,
}

impl Failed {
    pub(super) fn unsent(verdict: Verdict, cause: Cause, lease: Option<Found>) -> Self {
        Self { verdict, cause, response: None, handed_back: true, lease }
    }
}

impl Task {
    pub(super) fn new(id: u32, spec: Spec) -> Self {
        let phase = Phase::Readying { asked: false };
        Self {
            id,
            phase,
            fresh: true,
            spec,
            attempts: 0,
            may_have_executed: false,
            silenced: false,
            request: false,
            last: None,
            permit: false,
            ends: None,
            pending: false,
        }
    }

    pub(super) fn refresh(id: u32) -> Self {
        let spec = Spec { method: Method::Read, silent: None, copyable: false, clone: 0 };
        Self { phase: Phase::Refreshing { waiting: None }, ..Self::new(id, spec) }
    }

    pub(super) fn silent(&self) -> Option<bool> {
        self.spec.silent.or_else(|| self.silenced.then_some(true))
    }

    pub(super) fn end_attempt(&mut self, with: End) {
        let Phase::Attempt(attempt) = &mut self.phase else { panic!("no attempt of it is under way") };
        attempt.end(with);
    }

    pub(super) fn is_past_its_end(&self, now: u64) -> bool {
        self.pending && self.ends.is_some_and(|ends| now >= ends)
    }

    pub(super) fn moments(&self) -> impl Iterator<Item = u64> {
        let (first, second) = match &self.phase {
            Phase::Attempt(attempt) => (attempt.moments(), None),
            Phase::Pausing { earliest, latest } => (Some(*earliest), Some(*latest)),
            _ => (None, None),
        };
        first.into_iter().chain(second).chain(self.ends)
    }
}
