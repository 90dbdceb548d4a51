//! A body that is never copied.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::RepeatableBody;

pin_project! {
    /// Any body, sent once: it has no copies, so it is repeated only where a transport hands the request back.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower_recovery_http::{RepeatableBody, SentOnce};
    ///
    /// let body = SentOnce::new(String::from("one time only"));
    /// assert!(body.try_copy().is_none());
    /// ```
    #[derive(Default)]
    pub struct SentOnce<Inner> {
        #[pin]
        inner: Inner,
    }
}

impl<Inner> SentOnce<Inner> {
    /// Wraps a body.
    #[must_use]
    pub fn new(inner: Inner) -> Self {
        Self { inner }
    }

    /// The body in it.
    #[must_use]
    pub fn into_inner(self) -> Inner {
        self.inner
    }
}

impl<Inner: Body> Body for SentOnce<Inner> {
    type Data = Inner::Data;
    type Error = Inner::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Inner::Data>, Inner::Error>>> {
        self.project().inner.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<Inner: Body> RepeatableBody for SentOnce<Inner> {
    fn try_copy(&self) -> Option<Self> {
        None
    }
}

impl<Inner> fmt::Debug for SentOnce<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SentOnce").finish_non_exhaustive()
    }
}
