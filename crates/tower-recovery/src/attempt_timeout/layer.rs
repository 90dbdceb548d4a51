//! The layer.

use std::time::Duration;

use tower_layer::Layer;

use super::AttemptTimeout;

/// Bounds one attempt. See the [module documentation](super).
#[derive(Clone, Copy, Debug)]
pub struct AttemptTimeoutLayer {
    limit: Duration,
}

impl AttemptTimeoutLayer {
    /// Gives each attempt this long. Under a deadline take [`CallTiming`](crate::CallTiming), which checks that it is shorter.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl<Inner> Layer<Inner> for AttemptTimeoutLayer {
    type Service = AttemptTimeout<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        AttemptTimeout::new(inner, self.limit)
    }
}
