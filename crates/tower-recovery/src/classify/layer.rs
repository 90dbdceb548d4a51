//! The layer.

use tower_layer::Layer;

use super::ClassifyService;

/// Says what an error, or an answer, proves. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct ClassifyLayer<Classifier> {
    classifier: Classifier,
}

impl<Classifier> ClassifyLayer<Classifier> {
    /// A layer that asks this classifier, which each call clones: keep it cheap to clone.
    pub fn new(classifier: Classifier) -> Self {
        Self { classifier }
    }
}

impl<Inner, Classifier: Clone> Layer<Inner> for ClassifyLayer<Classifier> {
    type Service = ClassifyService<Inner, Classifier>;

    fn layer(&self, inner: Inner) -> Self::Service {
        ClassifyService::new(inner, self.classifier.clone())
    }
}
