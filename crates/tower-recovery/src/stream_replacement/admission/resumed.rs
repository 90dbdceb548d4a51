//! Handed out as it comes, and replaced by its rest.

use std::task::{Context, Poll};

use tower::BoxError;
use tower_service::Service;

use super::{Admitted, AdmittedFuture, AdmittedStream};
use crate::{
    Failure, RequestRules,
    stream_replacement::{Resume, StreamReplacement, StreamRules},
};

/// A stream is handed out as it comes, and a replacement is asked for the rest of it: see [`Resume`]. The call ends with the first item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumed<Resumption> {
    resume: Resumption,
}

impl<Resumption> Resumed<Resumption> {
    /// The rest is asked for in this way.
    #[must_use]
    pub fn by(resume: Resumption) -> Self {
        Self { resume }
    }
}

impl<Inner, Rules, Streams, Resumption, Request> Service<Request>
    for StreamReplacement<Inner, Rules, Streams, Resumed<Resumption>>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
    Request: Send + 'static,
{
    type Response = Admitted<Streams::Head, AdmittedStream<Inner, Rules, Streams, Resumption, Request>>;
    type Error = Failure;
    type Future = AdmittedFuture<Inner, Rules, Streams, Resumption, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.poll_inner_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let resume = self.admission.resume.clone();
        AdmittedFuture::new(self.supervise(resume, request), false)
    }
}
