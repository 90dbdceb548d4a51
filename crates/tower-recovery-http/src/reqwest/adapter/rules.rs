//! What the layers must know of a `reqwest::Request`.

use http::Method;
use tower_recovery::{Access, RequestRules};

use super::library::Request;
use crate::{ReadRoutes, collect::HasMethod, rules::RepeatPolicy};

/// What the layers must know of a `reqwest::Request`. A request whose body is a stream cannot be copied and is sent once.
#[derive(Clone, Debug)]
pub struct ReqwestRules {
    policy: RepeatPolicy,
}

impl ReqwestRules {
    /// These requests read.
    #[must_use]
    pub fn new(reads: ReadRoutes) -> Self {
        Self::with_policy(RepeatPolicy::new(reads))
    }

    pub(super) fn with_policy(policy: RepeatPolicy) -> Self {
        Self { policy }
    }

    /// As of [`HttpRules::trust_idempotency_keys`](crate::HttpRules::trust_idempotency_keys). The key must be the request's own: one among the client's default
    /// headers would be every request's, and is not seen.
    #[must_use]
    pub fn trust_idempotency_keys(mut self) -> Self {
        self.policy.trust_idempotency_keys();
        self
    }
}

impl RequestRules<Request> for ReqwestRules {
    type Method = Method;

    fn method(&self, request: &Request) -> Method {
        request.method().clone()
    }

    fn access(&self, request: &Request, method: &Method) -> Access {
        self.policy.access(method, request.url().path(), request.headers())
    }

    fn copy(&self, request: &Request) -> Option<Request> {
        request.try_clone()
    }

    fn silence(&self, request: &mut Request) {
        let silence = self.policy.silence(request.method(), request.url().path());
        if let Some(query) = silence.and_then(|silence| silence.added_to(request.url().query().unwrap_or_default())) {
            request.url_mut().set_query(Some(&query));
        }
    }
}

impl HasMethod for Request {
    fn method(&self) -> &Method {
        self.method()
    }
}
