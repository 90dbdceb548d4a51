//! The head, then the body.

use std::{
    any::Any,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Response, response::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited, combinators::Collect};
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_recovery::Handover;

use super::{BodyTooLong, IncompleteBody, Whole};
use crate::body_end::{Asked, Awaited, Trust};

pin_project! {
    /// The future of [`Collect`](super::Collect).
    #[must_use = "futures do nothing unless polled"]
    pub struct CollectFuture<Inner, Collecting> {
        #[pin]
        stage: Stage<Inner, Collecting>,
        asked: Asked,
        limit: usize,
        trust: Trust,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<Inner, Collecting> {
        // Head => Body | done
        Head { #[pin] head: Inner },
        // Body => done
        Body { parts: Option<Parts>, #[pin] body: Collecting },
    }
}

impl<Inner, Collecting> CollectFuture<Inner, Collecting> {
    pub(super) fn new(head: Inner, asked: Asked, limit: usize, trust: Trust) -> Self {
        Self { stage: Stage::Head { head }, asked, limit, trust }
    }
}

impl<Inner, ResponseBody, InnerError> Future for CollectFuture<Inner, Collect<Limited<Whole<ResponseBody>>>>
where
    Inner: Future<Output = Result<Response<ResponseBody>, InnerError>>,
    InnerError: Into<BoxError>,
    ResponseBody: Body,
    ResponseBody::Error: Into<BoxError>,
{
    type Output = Result<Response<Collected<ResponseBody::Data>>, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let body = match this.stage.as_mut().project() {
                StageProjection::Head { head } => {
                    let (parts, body) = ready!(head.poll(context)).map_err(Into::into)?.into_parts();
                    let awaited = Awaited::of(&parts, *this.asked, *this.trust);
                    if awaited.length().is_some_and(|length| length > *this.limit as u64) {
                        return Poll::Ready(Err(too_long(parts, *this.limit)));
                    }
                    Stage::Body {
                        parts: Some(parts),
                        body: Limited::new(Whole::new(body, awaited), *this.limit).collect(),
                    }
                }
                StageProjection::Body { parts, body } => {
                    let collected = ready!(body.poll(context));
                    let parts = parts.take().expect("polled after it was done");
                    return Poll::Ready(match collected {
                        Ok(body) => Ok(Response::from_parts(parts, body)),
                        Err(error) => Err(broken(parts, *this.limit, error)),
                    });
                }
            };
            this.stage.set(body);
        }
    }
}

fn broken(head: Parts, limit: usize, source: BoxError) -> BoxError {
    if source.is::<LengthLimitError>() {
        return too_long(head, limit);
    }
    IncompleteBody { status: head.status, headers: head.headers, source }.into()
}

fn too_long(head: Parts, limit: usize) -> BoxError {
    BodyTooLong { status: head.status, headers: head.headers, limit }.into()
}

impl<Inner: Handover, Collecting> Handover for CollectFuture<Inner, Collecting> {
    fn is_handed_over(&self) -> bool {
        match &self.stage {
            Stage::Head { head } => head.is_handed_over(),
            Stage::Body { .. } => true,
        }
    }

    fn take_unsent(self: Pin<&mut Self>) -> Option<Box<dyn Any + Send>> {
        match self.project().stage.project() {
            StageProjection::Head { head } => head.take_unsent(),
            StageProjection::Body { .. } => None,
        }
    }
}

impl<Inner, Collecting> fmt::Debug for CollectFuture<Inner, Collecting> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CollectFuture").field("limit", &self.limit).finish_non_exhaustive()
    }
}
