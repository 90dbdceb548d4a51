//! What the layers must know of an `http::Request`: whether it reads, and how it is copied and silenced.

mod policy;
mod reads;
mod silence;

use std::fmt;

use http::{Method, Request};
use tower_recovery::{Access, RequestRules};

pub(crate) use self::policy::RepeatPolicy;
pub use self::{reads::ReadRoutes, silence::Silence};

/// What the layers must know of an `http::Request`.
pub struct HttpRules<Body> {
    policy: RepeatPolicy,
    copy: fn(&Request<Body>) -> Option<Request<Body>>,
}

impl<Body> HttpRules<Body> {
    /// Requests are copied whole, body included.
    #[must_use]
    pub fn new(reads: ReadRoutes) -> Self
    where
        Body: Clone,
    {
        Self { policy: RepeatPolicy::new(reads), copy: |request| Some(request.clone()) }
    }

    /// Requests are never copied, because their bodies can be sent only once: repeated is only what a transport hands back.
    #[must_use]
    pub fn without_copies(reads: ReadRoutes) -> Self {
        Self { policy: RepeatPolicy::new(reads), copy: |_| None }
    }

    pub(crate) fn with_policy(policy: RepeatPolicy) -> Self
    where
        Body: Clone,
    {
        Self { policy, copy: |request| Some(request.clone()) }
    }

    /// Declares writes repeatable that carry an `Idempotency-Key`: the server is trusted to execute them once, also on another instance. The key stays
    /// the same on every attempt. Off until it is asked for.
    #[must_use]
    pub fn trust_idempotency_keys(mut self) -> Self {
        self.policy.trust_idempotency_keys();
        self
    }
}

impl<Body> RequestRules<Request<Body>> for HttpRules<Body> {
    type Method = Method;

    fn method(&self, request: &Request<Body>) -> Method {
        request.method().clone()
    }

    fn access(&self, request: &Request<Body>, method: &Method) -> Access {
        self.policy.access(method, request.uri().path(), request.headers())
    }

    fn copy(&self, request: &Request<Body>) -> Option<Request<Body>> {
        (self.copy)(request)
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
        Self { policy: self.policy.clone(), copy: self.copy }
    }
}

impl<Body> fmt::Debug for HttpRules<Body> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpRules").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
