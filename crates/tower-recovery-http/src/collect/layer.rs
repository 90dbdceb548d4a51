//! The layer.

use tower_layer::Layer;

use super::Collect;
use crate::body_end::Trust;

/// Collects the body of a unary answer inside its attempt. See the [module documentation](super).
#[derive(Clone, Copy, Debug)]
pub struct CollectLayer {
    limit: usize,
    trust: Trust,
}

impl CollectLayer {
    /// Bodies of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, trust: TRUST }
    }

    /// Any body without a length is whole when it ends without an error. Say it where something below this layer changes bodies, and hides how they end: there
    /// every body of HTTP/2 without a length would be an [`IncompleteBody`](crate::IncompleteBody).
    #[must_use]
    pub fn trust_clean_ends(self) -> Self {
        self.trusting(Trust::CleanEnds)
    }

    /// Takes nothing back.
    pub(crate) fn trusting(mut self, trust: Trust) -> Self {
        self.trust = self.trust.max(trust);
        self
    }
}

/// Servers of HTTP/1.0 and some proxies delimit every answer by the end of its connection: a unary call would have none from them.
pub(super) const TRUST: Trust = Trust::CloseDelimited;

impl<Inner> Layer<Inner> for CollectLayer {
    type Service = Collect<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Collect::new(inner, self.limit).trusting(self.trust)
    }
}
