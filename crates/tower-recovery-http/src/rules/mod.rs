//! What the layers must know of an `http::Request`: whether it reads, and how it is copied and silenced.

mod policy;
mod reads;
mod silence;

use std::{fmt, marker::PhantomData};

use http::{Method, Request};
use tower_recovery::{Access, RequestRules};

pub(crate) use self::policy::RepeatPolicy;
pub use self::{reads::ReadRoutes, silence::Silence};
use crate::RepeatableBody;

/// What the layers must know of an `http::Request`. Its body says how it is copied, see [`RepeatableBody`].
pub struct HttpRules<Body> {
    policy: RepeatPolicy,
    body: PhantomData<fn(Body)>,
}

impl<Body> HttpRules<Body> {
    /// Requests that read are these; the others write.
    #[must_use]
    pub fn new(reads: ReadRoutes) -> Self {
        Self::with_policy(RepeatPolicy::new(reads))
    }

    pub(crate) fn with_policy(policy: RepeatPolicy) -> Self {
        Self { policy, body: PhantomData }
    }

    /// Declares writes repeatable that carry an `Idempotency-Key`: the server is trusted to execute them once, also on another instance. The key stays
    /// the same on every attempt. Off until it is asked for.
    #[must_use]
    pub fn trust_idempotency_keys(mut self) -> Self {
        self.policy.trust_idempotency_keys();
        self
    }
}

impl<Body: RepeatableBody> RequestRules<Request<Body>> for HttpRules<Body> {
    type Method = Method;

    fn method(&self, request: &Request<Body>) -> Method {
        request.method().clone()
    }

    fn access(&self, request: &Request<Body>, method: &Method) -> Access {
        self.policy.access(method, request.uri().path(), request.headers())
    }

    fn copy(&self, request: &Request<Body>) -> Option<Request<Body>> {
        let mut copy = Request::new(request.body().try_copy()?);
        copy.method_mut().clone_from(request.method());
        copy.uri_mut().clone_from(request.uri());
        *copy.version_mut() = request.version();
        copy.headers_mut().clone_from(request.headers());
        copy.extensions_mut().clone_from(request.extensions());
        Some(copy)
    }

    fn is_whole(&self, copy: &Request<Body>) -> bool {
        copy.body().is_repeatable()
    }

    fn silence(&self, request: &mut Request<Body>) {
        let silence = self.policy.silence(request.method(), request.uri().path());
        if let Some(silenced) = silence.and_then(|silence| silence.applied_to(request.uri())) {
            *request.uri_mut() = silenced;
        }
    }
}

impl<Body> Clone for HttpRules<Body> {
    fn clone(&self) -> Self {
        Self::with_policy(self.policy.clone())
    }
}

impl<Body> fmt::Debug for HttpRules<Body> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpRules").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
