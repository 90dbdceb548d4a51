//! The layer.

use std::fmt;

use tower_layer::Layer;

use super::Reresolve;
use crate::HandleCache;

/// Attaches the current handle to each request, and evicts it when a failure indicts it. See the [module documentation](super).
pub struct ReresolveLayer<Handle> {
    cache: HandleCache<Handle>,
}

impl<Handle> ReresolveLayer<Handle> {
    /// A layer over this cache. Give clones of one cache to all stacks that call the same name.
    pub fn new(cache: HandleCache<Handle>) -> Self {
        Self { cache }
    }
}

impl<Handle: Clone + Send + 'static, Inner> Layer<Inner> for ReresolveLayer<Handle> {
    type Service = Reresolve<Inner, Handle>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Reresolve::new(inner, self.cache.clone())
    }
}

impl<Handle> Clone for ReresolveLayer<Handle> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone() }
    }
}

impl<Handle> fmt::Debug for ReresolveLayer<Handle> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReresolveLayer").field("cache", &self.cache).finish()
    }
}
