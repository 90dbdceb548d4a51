//! The request with its handle, and the service that brings them together.

use std::{
    fmt,
    task::{Context, Poll},
};

use tower::BoxError;
use tower_service::Service;

use super::DispatchFuture;
use crate::Lease;

/// A request with the handle that it goes to, and the lease of that handle.
///
/// It is what [`Reresolve`](crate::reresolve::Reresolve) sends down, through every layer between it and [`Dispatch`].
#[derive(Clone)]
pub struct Addressed<Handle, Request> {
    /// The service to call: a copy of its own for this attempt.
    pub handle: Handle,
    /// The hold on the handle's generation. A response that outlives the call may keep it.
    pub lease: Lease,
    /// The request, as the layers above gave it.
    pub request: Request,
}

impl<Handle, Request> fmt::Debug for Addressed<Handle, Request> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Addressed").field("lease", &self.lease).finish_non_exhaustive()
    }
}

/// The leaf of every stack: readies the handle that travels with the request, and calls it.
///
/// # Readiness
///
/// Always ready. The handle is readied inside the call, where waiting for it counts against the attempt's timeout.
///
/// # Cancel safety
///
/// Dropping the future before the handle is ready sends nothing; later it drops the handle's own future.
///
/// # Errors
///
/// A handle whose `poll_ready` fails gives a [`Failure`](crate::Failure) by [`NotReady`](super::NotReady) that hands the request back.
/// An error of the handle's call goes out as it is, boxed.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to configure")]
pub struct Dispatch;

impl<Handle, Request> Service<Addressed<Handle, Request>> for Dispatch
where
    Handle: Service<Request>,
    Handle::Error: Into<BoxError>,
    Request: Send + 'static,
{
    type Response = Handle::Response;
    type Error = BoxError;
    type Future = DispatchFuture<Handle, Request>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, addressed: Addressed<Handle, Request>) -> Self::Future {
        DispatchFuture::new(addressed.handle, addressed.request)
    }
}
