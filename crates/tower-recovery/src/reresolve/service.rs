//! The service.

use std::{
    fmt,
    task::{Context, Poll},
};

use tower::BoxError;
use tower_service::Service;

use super::ReresolveFuture;
use crate::{Addressed, Failure, HandleCache, Held, attempt_scope};

/// Attaches the current handle to each request. See the [module documentation](super).
pub struct Reresolve<Inner, Handle> {
    inner: Inner,
    cache: HandleCache<Handle>,
    /// This clone's own copy of the handle: a call compares one number and takes no lock.
    local: Option<Held<Handle>>,
}

impl<Inner, Handle> Reresolve<Inner, Handle> {
    /// Wraps a service without a layer.
    pub fn new(inner: Inner, cache: HandleCache<Handle>) -> Self {
        Self { inner, cache, local: None }
    }
}

impl<Inner, Handle: Clone + Send + 'static> Reresolve<Inner, Handle> {
    /// The handle that is live, through this clone's own copy, or `None` where a call has to wait for one.
    fn held(&mut self) -> Option<&Held<Handle>> {
        let shared = self.cache.shared();
        if self.local.as_ref().is_none_or(|held| !shared.is_live(held.lease.generation())) {
            self.local = shared.held();
        }
        self.local.as_ref()
    }
}

impl<Inner, Handle, Request> Service<Request> for Reresolve<Inner, Handle>
where
    Inner: Service<Addressed<Handle, Request>> + Clone,
    Inner::Response: Send + 'static,
    Inner::Error: Into<BoxError>,
    Handle: Clone + Send + 'static,
    Request: Send + 'static,
{
    type Response = Inner::Response;
    type Error = Failure;
    type Future = ReresolveFuture<Inner, Handle, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(context).map_err(Failure::not_ready)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let may_be_given_up = self.cache.shared().suspects() && attempt_scope::may_be_given_up();
        match self.held().cloned() {
            Some(held) => ReresolveFuture::on(held, &mut self.inner, request, may_be_given_up),
            None => {
                // The instance that was readied goes with the call, and an unready clone takes its place.
                let unready = self.inner.clone();
                let readied = std::mem::replace(&mut self.inner, unready);
                let is_attempt = attempt_scope::is_called();
                ReresolveFuture::waiting(self.cache.acquire(), readied, request, may_be_given_up, is_attempt)
            }
        }
    }
}

/// A clone starts unready, with a copy of the handle of its own.
impl<Inner: Clone, Handle: Clone> Clone for Reresolve<Inner, Handle> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), cache: self.cache.clone(), local: self.local.clone() }
    }
}

impl<Inner: fmt::Debug, Handle> fmt::Debug for Reresolve<Inner, Handle> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reresolve")
            .field("inner", &self.inner)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
