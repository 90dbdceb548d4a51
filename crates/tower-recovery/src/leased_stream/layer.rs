//! The layer.

use tower_layer::Layer;

use super::LeasedStreams;

/// Lets streams indict the handle that they came from. See the [module documentation](super).
#[derive(Clone, Copy, Debug)]
pub struct LeasedStreamLayer<Classifier> {
    classifier: Classifier,
}

impl<Classifier> LeasedStreamLayer<Classifier> {
    /// What an error of a stream proves, this classifier says.
    #[must_use]
    pub fn new(classifier: Classifier) -> Self {
        Self { classifier }
    }
}

impl<Inner, Classifier: Clone> Layer<Inner> for LeasedStreamLayer<Classifier> {
    type Service = LeasedStreams<Inner, Classifier>;

    fn layer(&self, inner: Inner) -> Self::Service {
        LeasedStreams::new(inner, self.classifier.clone())
    }
}
