//! Handed out as it comes, and replaced only before.

use std::task::{Context, Poll};

use tower::BoxError;
use tower_service::Service;

use super::{Admitted, AdmittedFuture, AdmittedStream, Restart};
use crate::{
    Failure, RequestRules,
    stream_replacement::{StreamReplacement, StreamRules},
};

/// A stream is replaced while nothing of it was handed out: the call ends with its first item, and what breaks after that is the reader's to know.
///
/// What the rules call a [`Preamble`](crate::stream_replacement::Sight::Preamble) is no first item: it is held back until one comes, up to 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a choice without settings")]
pub struct UntilFirstItem;

impl<Inner, Rules, Streams, Request> Service<Request> for StreamReplacement<Inner, Rules, Streams, UntilFirstItem>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Request: Send + 'static,
{
    type Response = Admitted<Streams::Head, AdmittedStream<Inner, Rules, Streams, Restart, Request>>;
    type Error = Failure;
    type Future = AdmittedFuture<Inner, Rules, Streams, Restart, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.poll_inner_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        AdmittedFuture::new(self.supervise(Restart::new(), request), true)
    }
}
