//! The service.

use std::task::{Context, Poll};

use http::Response;
use http_body::Body;
use tower::BoxError;
use tower_recovery::Addressed;
use tower_service::Service;

use super::{StreamedBody, StreamedFuture, future::Call};
use crate::{
    HttpClassifier,
    body_end::{Asked, Trust},
    collect::HasMethod,
};

/// Watches the body of each answer. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct Streamed<Inner> {
    inner: Inner,
    classifier: HttpClassifier,
    trust: Trust,
}

impl<Inner> Streamed<Inner> {
    pub(super) fn new(inner: Inner, classifier: HttpClassifier, trust: Trust) -> Self {
        Self { inner, classifier, trust }
    }
}

impl<Inner, Handle, Request, ResponseBody> Service<Addressed<Handle, Request>> for Streamed<Inner>
where
    Inner: Service<Addressed<Handle, Request>, Response = Response<ResponseBody>>,
    Inner::Error: Into<BoxError>,
    Request: HasMethod,
    ResponseBody: Body,
    ResponseBody::Error: Into<BoxError>,
{
    type Response = Response<StreamedBody<ResponseBody>>;
    type Error = BoxError;
    type Future = StreamedFuture<Inner::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, addressed: Addressed<Handle, Request>) -> Self::Future {
        let call = Call {
            asked: Asked::from(addressed.request.method()),
            lease: addressed.lease.clone(),
            classifier: self.classifier.clone(),
            trust: self.trust,
        };
        StreamedFuture::new(self.inner.call(addressed), call)
    }
}
