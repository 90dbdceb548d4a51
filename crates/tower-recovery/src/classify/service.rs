//! The service.

use std::task::{Context, Poll};

use tower::BoxError;
use tower_service::Service;

use super::{Classify, ClassifyFuture};
use crate::Failure;

/// Says what an error, or an answer, of the inner service proves. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct ClassifyService<Inner, Classifier> {
    inner: Inner,
    classifier: Classifier,
}

impl<Inner, Classifier> ClassifyService<Inner, Classifier> {
    /// Wraps a service without a layer.
    pub fn new(inner: Inner, classifier: Classifier) -> Self {
        Self { inner, classifier }
    }
}

impl<Inner, Classifier, Request> Service<Request> for ClassifyService<Inner, Classifier>
where
    Inner: Service<Request>,
    Inner::Response: Send + 'static,
    Inner::Error: Into<BoxError>,
    Classifier: Classify<Inner::Response> + Clone,
{
    type Response = Inner::Response;
    type Error = Failure;
    type Future = ClassifyFuture<Inner::Future, Classifier>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(context).map_err(Failure::not_ready)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ClassifyFuture::new(self.inner.call(request), self.classifier.clone())
    }
}
