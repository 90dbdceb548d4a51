//! The layer.

use std::sync::Arc;

use tower_layer::Layer;

use super::{LinearBackoff, ReadOnlyRetry};
use crate::{CallTiming, Observer, RetryBudget, ShareBudget, event::Reporter};

/// Repeats what may be repeated. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct ReadOnlyRetryLayer<Rules> {
    rules: Rules,
    policy: Policy,
}

/// How often, how long, with what pauses, at whose expense, and who hears of it.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) timing: CallTiming,
    pub(super) backoff: LinearBackoff,
    pub(super) budget: Arc<dyn RetryBudget>,
    pub(super) route: Arc<str>,
    pub(super) reporter: Reporter,
}

impl<Rules> ReadOnlyRetryLayer<Rules> {
    /// A layer that knows its requests by these rules, with the default [`CallTiming`] and [`LinearBackoff`], and a [`ShareBudget`] of its own.
    pub fn new(rules: Rules) -> Self {
        let policy = Policy {
            timing: CallTiming::default(),
            backoff: LinearBackoff::default(),
            budget: Arc::new(ShareBudget::default()),
            route: Arc::from("call"),
            reporter: Reporter::default(),
        };
        Self { rules, policy }
    }

    /// What events and logs call the route. Default: `call`.
    #[must_use]
    pub fn named(mut self, route: impl Into<Arc<str>>) -> Self {
        self.policy.route = route.into();
        self
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

    /// Who sells the permits for repeats. To share a budget among several layers, give each a clone of an `Arc` of it.
    #[must_use]
    pub fn budget(mut self, budget: impl RetryBudget + 'static) -> Self {
        self.policy.budget = Arc::new(budget);
        self
    }

    /// Who sees the events of this layer: failed attempts, repeats, calls given up.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.policy.reporter = Reporter::to(observer);
        self
    }
}

impl<Rules: Clone, Inner: Clone> Layer<Inner> for ReadOnlyRetryLayer<Rules> {
    type Service = ReadOnlyRetry<Inner, Rules>;

    fn layer(&self, inner: Inner) -> Self::Service {
        ReadOnlyRetry::new(inner, self.rules.clone(), self.policy.clone())
    }
}
