//! Bounds and name of a [`HandleCache`].

use std::{fmt, sync::Arc, time::Duration};

use crate::{Observer, event::Reporter};

use super::{HandleCache, floor::Floor, resolver::Resolve, shared::Shared};

/// Sets the bounds and the name of a [`HandleCache`].
#[must_use = "a builder does nothing before `build`"]
pub struct HandleCacheBuilder<Handle> {
    resolve: Arc<Resolve<Handle>>,
    settings: Settings,
}

pub(super) struct Settings {
    pub(super) name: Arc<str>,
    pub(super) resolve_timeout: Duration,
    pub(super) floor: Floor,
    pub(super) reporter: Reporter,
}

impl<Handle: Clone + Send + 'static> HandleCacheBuilder<Handle> {
    pub(super) fn new(resolve: Arc<Resolve<Handle>>) -> Self {
        Self {
            resolve,
            settings: Settings {
                name: Arc::from("handle"),
                resolve_timeout: Duration::from_secs(10),
                floor: Floor { step: Duration::from_millis(100), ceiling: Duration::from_secs(5), spread: true },
                reporter: Reporter::default(),
            },
        }
    }

    /// What the log calls the handle: `Re-resolved the <name>.` Default: `handle`.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// How long one resolve may take. Default: 10 s.
    pub fn resolve_timeout(mut self, limit: Duration) -> Self {
        self.settings.resolve_timeout = limit;
        self
    }

    /// The least time between an answer of the resolver and the next resolve, which grows by one `step` with each resolve
    /// in a row that fails, is left by everybody, or finds the instance just evicted, up to `ceiling`; chance adds up to a quarter. Default: 100 ms, up to 5 s.
    pub fn resolve_floor(mut self, step: Duration, ceiling: Duration) -> Self {
        self.settings.floor = Floor { step, ceiling, ..self.settings.floor };
        self
    }

    /// Who sees the events of this cache: resolves, failed ones, evictions.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.settings.reporter = Reporter::to(observer);
        self
    }

    /// Leaves the floor as it is, without what chance adds. For tests that count the moments of a paused clock.
    pub fn exact_floor(mut self) -> Self {
        self.settings.floor.spread = false;
        self
    }

    /// The cache. Nothing is resolved before the first call.
    pub fn build(self) -> HandleCache<Handle> {
        HandleCache { shared: Arc::new(Shared::new(self.resolve, self.settings)) }
    }
}

impl<Handle> fmt::Debug for HandleCacheBuilder<Handle> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HandleCacheBuilder").field("name", &self.settings.name).finish_non_exhaustive()
    }
}
