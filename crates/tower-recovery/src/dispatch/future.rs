//! Readying the handle, then calling it: two steps, so that an error of the first proves that nothing was sent.

use std::{
    any::Any,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use crate::{Failure, Handover};

pin_project! {
    /// The future of [`Dispatch`](super::Dispatch).
    #[must_use = "futures do nothing unless polled"]
    pub struct DispatchFuture<Handle: Service<Request>, Request> {
        // Kept until the call has ended, so that an evicted handle is closed after its last user and not under it.
        handle: Handle,
        // Here until the handle is ready.
        request: Option<Request>,
        #[pin]
        call: Option<Handle::Future>,
    }
}

impl<Handle: Service<Request>, Request> DispatchFuture<Handle, Request> {
    pub(super) fn new(handle: Handle, request: Request) -> Self {
        Self { handle, request: Some(request), call: None }
    }
}

impl<Handle, Request> Future for DispatchFuture<Handle, Request>
where
    Handle: Service<Request>,
    Handle::Error: Into<BoxError>,
    Request: Send + 'static,
{
    type Output = Result<Handle::Response, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.request.is_some() {
            let readied = ready!(this.handle.poll_ready(context));
            let request = this.request.take().expect("it was there a line ago");
            match readied {
                Ok(()) => this.call.set(Some(this.handle.call(request))),
                Err(error) => return Poll::Ready(Err(Failure::not_ready(error).with_unsent(request).into())),
            }
        }
        let call = this.call.as_pin_mut().expect("polled after it was done or its request was taken back");
        call.poll(context).map_err(Into::into)
    }
}

impl<Handle: Service<Request>, Request: Send + 'static> Handover for DispatchFuture<Handle, Request> {
    fn is_handed_over(&self) -> bool {
        self.call.is_some()
    }

    fn take_unsent(self: Pin<&mut Self>) -> Option<Box<dyn Any + Send>> {
        let request = self.project().request.take()?;
        Some(Box::new(request))
    }
}

impl<Handle: Service<Request>, Request> fmt::Debug for DispatchFuture<Handle, Request> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DispatchFuture").field("handed_over", &self.call.is_some()).finish_non_exhaustive()
    }
}
