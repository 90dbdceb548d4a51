//! What came of one call.

use std::fmt;

use tower_recovery::Verdict;

use crate::{case::Failure, clients::Column};

/// What the client showed, what it proves, and what the server did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// In a few words, from outside in.
    pub(crate) seen: String,
    pub(crate) verdict: Verdict,
    /// Whether the failure carried the request.
    pub(crate) is_handed_back: bool,
    /// How often it was executed, when all is over.
    pub(crate) executed: usize,
    pub(crate) connections: usize,
    pub(crate) handshakes: usize,
}

/// One cell.
pub(crate) struct Cell<'failures> {
    pub(crate) failure: &'failures Failure,
    pub(crate) column: Column,
    pub(crate) outcome: Outcome,
}

impl fmt::Debug for Cell<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} with {}: {:?}", self.failure.name, self.column, self.outcome)
    }
}
