//! The layer.

use tower_layer::Layer;

use super::Collect;

/// Collects the body of a unary answer inside its attempt. See the [module documentation](super).
#[derive(Clone, Copy, Debug)]
pub struct CollectLayer {
    limit: usize,
}

impl CollectLayer {
    /// Bodies of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit }
    }
}

impl<Inner> Layer<Inner> for CollectLayer {
    type Service = Collect<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Collect::new(inner, self.limit)
    }
}
