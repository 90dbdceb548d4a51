//! The service.

use std::task::{Context, Poll};

use http::Response;
use http_body::Body;
use http_body_util::{Collected, Limited, combinators};
use tower::BoxError;
use tower_service::Service;

use super::{CollectFuture, HasMethod, Whole, layer::TRUST};
use crate::body_end::{Asked, Trust};

/// Collects the body of each answer. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct Collect<Inner> {
    inner: Inner,
    limit: usize,
    trust: Trust,
}

impl<Inner> Collect<Inner> {
    /// Wraps a service without a layer.
    pub fn new(inner: Inner, limit: usize) -> Self {
        Self { inner, limit, trust: TRUST }
    }

    pub(super) fn trusting(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }
}

impl<Inner, Request, ResponseBody> Service<Request> for Collect<Inner>
where
    Inner: Service<Request, Response = Response<ResponseBody>>,
    Request: HasMethod,
    Inner::Error: Into<BoxError>,
    ResponseBody: Body,
    ResponseBody::Error: Into<BoxError>,
{
    type Response = Response<Collected<ResponseBody::Data>>;
    type Error = BoxError;
    type Future = CollectFuture<Inner::Future, combinators::Collect<Limited<Whole<ResponseBody>>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let asked = Asked::from(request.method());
        CollectFuture::new(self.inner.call(request), asked, self.limit, self.trust)
    }
}
