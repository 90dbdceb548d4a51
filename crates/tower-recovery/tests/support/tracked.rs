//! Who still holds a handle.

use std::{
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use tower::Service;

/// A handle whose copies are counted: the connection behind it is closed with the last one.
#[derive(Clone, Debug)]
pub(crate) struct Tracked<Inner> {
    inner: Inner,
    copy: Arc<()>,
}

impl<Inner> Tracked<Inner> {
    pub(crate) fn new(inner: Inner) -> Self {
        Self { inner, copy: Arc::new(()) }
    }

    /// Counts the copies without being one.
    pub(crate) fn copies(&self) -> Weak<()> {
        Arc::downgrade(&self.copy)
    }
}

impl<Inner: Service<Request>, Request> Service<Request> for Tracked<Inner> {
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = Inner::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Inner::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.inner.call(request)
    }
}
