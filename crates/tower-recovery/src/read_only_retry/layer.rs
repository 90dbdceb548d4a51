//! The layer.

use tower_layer::Layer;

use super::{LinearBackoff, ReadOnlyRetry};
use crate::CallTiming;

/// Repeats what may be repeated. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct ReadOnlyRetryLayer<Rules> {
    rules: Rules,
    policy: Policy,
}

/// How often, how long, and with what pauses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    pub(super) timing: CallTiming,
    pub(super) backoff: LinearBackoff,
}

impl<Rules> ReadOnlyRetryLayer<Rules> {
    /// A layer that knows its requests by these rules, with the default [`CallTiming`] and [`LinearBackoff`].
    pub fn new(rules: Rules) -> Self {
        Self { rules, policy: Policy::default() }
    }

    /// How many attempts and how much time a call has.
    #[must_use]
    pub fn timing(mut self, timing: CallTiming) -> Self {
        self.policy.timing = timing;
        self
    }

    /// How long repeats wait.
    #[must_use]
    pub fn backoff(mut self, backoff: LinearBackoff) -> Self {
        self.policy.backoff = backoff;
        self
    }
}

impl<Rules: Clone, Inner: Clone> Layer<Inner> for ReadOnlyRetryLayer<Rules> {
    type Service = ReadOnlyRetry<Inner, Rules>;

    fn layer(&self, inner: Inner) -> Self::Service {
        ReadOnlyRetry::new(inner, self.rules.clone(), self.policy)
    }
}
