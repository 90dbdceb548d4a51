//! The body.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::response::Parts;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_recovery::{Failure, Lease, Verdict};

use crate::{HttpClassifier, body_end::Awaited, collect::Whole};

pin_project! {
    /// The body of an answer, which indicts its handle when it breaks. See the [module documentation](super).
    pub struct StreamedBody<Inner> {
        // `None` after the end, or after the error that took its place.
        #[pin]
        body: Option<Whole<Inner>>,
        judge: Judge,
    }
}

impl<Inner> StreamedBody<Inner> {
    pub(super) fn new(body: Inner, awaited: Awaited, judge: Judge) -> Self {
        Self { body: Some(Whole::new(body, awaited)), judge }
    }
}

impl<Inner> Body for StreamedBody<Inner>
where
    Inner: Body,
    Inner::Error: Into<BoxError>,
{
    type Data = Inner::Data;
    type Error = Failure;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Inner::Data>, Failure>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let broken = match ready!(body.poll_frame(context)) {
            Some(Ok(frame)) => return Poll::Ready(Some(Ok(frame))),
            ended => ended.and_then(Result::err),
        };
        this.body.set(None);
        Poll::Ready(broken.map(|error| Err(this.judge.indict(error))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<Inner> fmt::Debug for StreamedBody<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamedBody").field("body", &self.body).finish_non_exhaustive()
    }
}

/// Says what a broken body proves, and acts on it.
pub(super) struct Judge {
    classifier: HttpClassifier,
    // Weighed when the head came, which is not kept.
    of_the_head: Verdict,
    lease: Lease,
}

impl Judge {
    pub(super) fn new(head: &Parts, classifier: HttpClassifier, lease: Lease) -> Self {
        let of_the_head = classifier.verdict_of_headed(head.status, &head.headers);
        Self { classifier, of_the_head, lease }
    }

    fn indict(&self, error: BoxError) -> Failure {
        let verdict = self.classifier.verdict_of_broken_body(self.of_the_head, error.as_ref());
        if verdict.is_stale() {
            self.lease.indict();
        }
        Failure::new(verdict, error).with_lease(self.lease.clone())
    }
}
