//! The service.

use std::task::{Context, Poll};

use futures_util::TryStream;
use tower::BoxError;
use tower_service::Service;

use super::{LeasedStream, LeasedStreamFuture};
use crate::{Addressed, Classify};

/// Gives streams that indict the handle that they came from. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct LeasedStreams<Inner, Classifier> {
    inner: Inner,
    classifier: Classifier,
}

impl<Inner, Classifier> LeasedStreams<Inner, Classifier> {
    pub(super) fn new(inner: Inner, classifier: Classifier) -> Self {
        Self { inner, classifier }
    }
}

impl<Inner, Handle, Request, Classifier> Service<Addressed<Handle, Request>> for LeasedStreams<Inner, Classifier>
where
    Inner: Service<Addressed<Handle, Request>>,
    Inner::Response: TryStream,
    <Inner::Response as TryStream>::Error: Into<BoxError>,
    Classifier: Classify<Inner::Response> + Clone,
{
    type Response = LeasedStream<Inner::Response, Classifier>;
    type Error = Inner::Error;
    type Future = LeasedStreamFuture<Inner::Future, Classifier>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Inner::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, addressed: Addressed<Handle, Request>) -> Self::Future {
        let lease = addressed.lease.clone();
        LeasedStreamFuture::new(self.inner.call(addressed), lease, self.classifier.clone())
    }
}
