//! The layer.

use tower_layer::Layer;

use super::Streamed;
use crate::{HttpClassifier, body_end::Trust};

/// Watches the body of an answer that outlives its call. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct StreamedLayer {
    classifier: HttpClassifier,
    trust: Trust,
}

impl StreamedLayer {
    /// A layer that asks this classifier what the error of a body proves: the one of the stack's
    /// [`ClassifyLayer`](tower_recovery::ClassifyLayer).
    #[must_use]
    pub fn new(classifier: HttpClassifier) -> Self {
        Self { classifier, trust: Trust::default() }
    }

    /// A body of HTTP/1 that is delimited by the end of its connection alone is whole when that ends in order. Say it of servers that are known to answer like that:
    /// one that dies in the middle of such a body looks the same.
    #[must_use]
    pub fn trust_close_delimited(self) -> Self {
        self.trusting(Trust::CloseDelimited)
    }

    /// Any body without a length is whole when it ends without an error. Say it where something below this layer changes bodies, and hides how they end.
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

impl<Inner> Layer<Inner> for StreamedLayer {
    type Service = Streamed<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Streamed::new(inner, self.classifier.clone(), self.trust)
    }
}
