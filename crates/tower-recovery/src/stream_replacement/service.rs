//! The service.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use tower::BoxError;
use tower_service::Service;

use super::{Resume, StreamRules, layer::Policy, supervisor::Supervisor};
use crate::{Failure, RequestRules, template::Template};

/// Gets a stream replaced that broke or fell silent. See the [module documentation](super).
pub struct StreamReplacement<Inner, Rules, Streams, Admission> {
    inner: Inner,
    block: Arc<Block<Inner, Rules, Streams>>,
    pub(super) admission: Admission,
}

/// What the streams of one clone refer to.
pub(super) struct Block<Inner, Rules, Streams> {
    pub(super) rules: Rules,
    /// The rules as they are before a stream begins.
    pub(super) streams: Streams,
    pub(super) policy: Policy,
    pub(super) template: Template<Inner>,
}

impl<Inner: Clone, Rules, Streams, Admission> StreamReplacement<Inner, Rules, Streams, Admission> {
    pub(super) fn new(inner: Inner, rules: Rules, streams: Streams, admission: Admission, policy: Policy) -> Self {
        let template = Template::new(inner.clone());
        Self { inner, block: Arc::new(Block { rules, streams, policy, template }), admission }
    }

    pub(super) fn poll_inner_ready<Request>(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>>
    where
        Inner: Service<Request>,
        Inner::Error: Into<BoxError>,
    {
        self.inner.poll_ready(context).map_err(Failure::not_ready)
    }

    /// Calls the first attempt on the instance that was readied.
    pub(super) fn supervise<Resumption, Request>(
        &mut self,
        resume: Resumption,
        request: Request,
    ) -> Supervisor<Inner, Rules, Streams, Resumption, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
        Resumption: Resume<Request, Streams::Head, Streams::Item>,
    {
        Supervisor::new(Arc::clone(&self.block), &mut self.inner, resume, request)
    }
}

/// A clone starts unready, with a block of its own.
impl<Inner, Rules, Streams, Admission> Clone for StreamReplacement<Inner, Rules, Streams, Admission>
where
    Inner: Clone,
    Rules: Clone,
    Streams: Clone,
    Admission: Clone,
{
    fn clone(&self) -> Self {
        let Block { rules, streams, policy, template } = &*self.block;
        let block = Block {
            rules: rules.clone(),
            streams: streams.clone(),
            policy: policy.clone(),
            template: Template::new(template.another()),
        };
        Self { inner: self.inner.clone(), block: Arc::new(block), admission: self.admission.clone() }
    }
}

impl<Inner, Rules, Streams, Admission> fmt::Debug for StreamReplacement<Inner, Rules, Streams, Admission>
where
    Inner: fmt::Debug,
    Rules: fmt::Debug,
    Admission: fmt::Debug,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamReplacement")
            .field("inner", &self.inner)
            .field("rules", &self.block.rules)
            .field("policy", &self.block.policy)
            .field("admission", &self.admission)
            .finish_non_exhaustive()
    }
}
