//! The service.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use tower::BoxError;
use tower_service::Service;

use super::{ReadOnlyRetryFuture, layer::Policy};
use crate::{Failure, RequestRules, retry_budget::Deposits, template::Template};

/// Repeats what may be repeated. See the [module documentation](super).
pub struct ReadOnlyRetry<Inner, Rules> {
    inner: Inner,
    block: Arc<Block<Inner, Rules>>,
}

/// What the calls of one clone refer to. One a clone, so that two threads with a clone each do not share a reference count.
pub(super) struct Block<Inner, Rules> {
    pub(super) rules: Rules,
    pub(super) policy: Policy,
    pub(super) deposits: Deposits,
    pub(super) template: Template<Inner>,
}

impl<Inner: Clone, Rules> ReadOnlyRetry<Inner, Rules> {
    pub(super) fn new(inner: Inner, rules: Rules, policy: Policy) -> Self {
        let template = inner.clone();
        Self { inner, block: Arc::new(Block::new(rules, policy, template)) }
    }
}

impl<Inner: Clone, Rules> Block<Inner, Rules> {
    fn new(rules: Rules, policy: Policy, template: Inner) -> Self {
        let deposits = Deposits::new(Arc::clone(&policy.budget));
        Self { rules, policy, deposits, template: Template::new(template) }
    }
}

impl<Inner, Rules, Request> Service<Request> for ReadOnlyRetry<Inner, Rules>
where
    Inner: Service<Request> + Clone,
    Inner::Response: Send + 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Request: Send + 'static,
{
    type Response = Inner::Response;
    type Error = Failure;
    type Future = ReadOnlyRetryFuture<Inner, Rules, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(context).map_err(Failure::not_ready)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ReadOnlyRetryFuture::new(Arc::clone(&self.block), &mut self.inner, request)
    }
}

/// A clone starts unready, with a block of its own.
impl<Inner: Clone, Rules: Clone> Clone for ReadOnlyRetry<Inner, Rules> {
    fn clone(&self) -> Self {
        let block = Block::new(self.block.rules.clone(), self.block.policy.clone(), self.block.template.another());
        Self { inner: self.inner.clone(), block: Arc::new(block) }
    }
}

impl<Inner: fmt::Debug, Rules: fmt::Debug> fmt::Debug for ReadOnlyRetry<Inner, Rules> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReadOnlyRetry")
            .field("inner", &self.inner)
            .field("rules", &self.block.rules)
            .field("policy", &self.block.policy)
            .finish_non_exhaustive()
    }
}
