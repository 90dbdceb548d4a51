//! The error of a service that could not be readied.

use tower::BoxError;

use crate::Verdict;

/// A `poll_ready` failed: nothing was sent, and tower's contract says that the instance is of no further use.
#[derive(Debug, thiserror::Error)]
#[error("the service did not become ready")]
pub struct NotReady(#[source] BoxError);

impl NotReady {
    pub(crate) const VERDICT: Verdict = Verdict::never_sent().stale();

    pub(crate) fn new(source: BoxError) -> Self {
        Self(source)
    }
}
