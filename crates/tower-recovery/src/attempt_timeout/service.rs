//! The service.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use tower::BoxError;
use tower_service::Service;

use super::AttemptTimeoutFuture;
use crate::Handover;

/// Bounds each call of the inner service. See the [module documentation](super).
#[derive(Clone, Debug)]
pub struct AttemptTimeout<Inner> {
    inner: Inner,
    limit: Duration,
}

impl<Inner> AttemptTimeout<Inner> {
    /// Wraps a service without a layer.
    pub fn new(inner: Inner, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<Inner, Request> Service<Request> for AttemptTimeout<Inner>
where
    Inner: Service<Request>,
    Inner::Error: Into<BoxError>,
    Inner::Future: Handover,
{
    type Response = Inner::Response;
    type Error = BoxError;
    type Future = AttemptTimeoutFuture<Inner::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        AttemptTimeoutFuture::new(self.inner.call(request), self.limit)
    }
}
