//! From the settings to a stack.

use std::{sync::Arc, time::Duration};

use tower::ServiceBuilder;
use tower_recovery::{
    AttemptTimeoutLayer, ClassifyLayer, Dispatch, HandleCache, InvalidSetting, ReadOnlyRetryLayer, RecoveryEvent,
    ReresolveLayer, attempt_timeout::AttemptTimeout, classify::ClassifyService, read_only_retry::ReadOnlyRetry,
    reresolve::Reresolve,
};

use super::HyphaRecovery;
use crate::{HyphaClassifier, HyphaResolver, HyphaRules, RemoteService};

/// The stack of [`build`](HyphaRecovery::build): a tower service of [`Call`](crate::Call).
pub type HyphaStack =
    ReadOnlyRetry<Reresolve<ClassifyService<AttemptTimeout<Dispatch>, HyphaClassifier>, RemoteService>, HyphaRules>;

impl HyphaRecovery {
    /// The stack.
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, by name.
    pub fn build(self) -> Result<HyphaStack, InvalidSetting> {
        let timing = self.timing()?;
        let resolve_timeout = self.resolve_timeout_under(timing);
        // A call that waits for a connection ends as never sent, and not by its attempt's timeout, after which nobody knows.
        let connection_wait = self.client.shared().settings.patience.connection.min(timing.attempt_timeout() / 2);
        let ping_timeout = self.ping_timeout.unwrap_or_else(|| Duration::from_secs(2).min(resolve_timeout / 4));
        let resolver =
            HyphaResolver::new(self.client.clone()).ping_timeout(ping_timeout).connection_wait(connection_wait);
        let mut classifier = HyphaClassifier::new();
        if let Some(monitor) = self.monitor {
            classifier = classifier.reporting_to(monitor);
        }
        let mut cache = HandleCache::telling_of_evictions(resolver, self.query)
            .named(Arc::clone(&self.name))
            .resolve_timeout(resolve_timeout);
        if let Some(period) = self.refresh_every {
            cache = cache.refresh_every(period)?;
        }
        if let Some(wait) = self.suspect_after {
            cache = cache.suspect_after(wait)?;
        }
        if let Some((step, ceiling)) = self.resolve_floor {
            cache = cache.resolve_floor(step, ceiling);
        }
        let mut retry = ReadOnlyRetryLayer::new(self.rules).named(self.name).timing(timing).backoff(self.backoff);
        if let Some(budget) = self.budget {
            retry = retry.budget(budget);
        }
        if let Some(observer) = self.observer {
            let of_the_cache = Arc::clone(&observer);
            cache = cache.observer(move |event: &RecoveryEvent| of_the_cache.observe(event));
            retry = retry.observer(move |event: &RecoveryEvent| observer.observe(event));
        }
        Ok(ServiceBuilder::new()
            .layer(retry)
            .layer(ReresolveLayer::new(cache.build()))
            .layer(ClassifyLayer::new(classifier))
            .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
            .service(Dispatch))
    }
}
