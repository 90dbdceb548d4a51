//! One call, put together.

use std::fmt;

use tower::{BoxError, ServiceExt};
use tower_recovery::{Failure, Verdict};
use tower_service::Service;

use super::{
    InvalidTarget, ReqwestStack, Unary,
    library::{Request, RequestBuilder, Response},
};

/// A call that is being put together. Made by [`ReqwestStack::get`] and its like.
#[must_use = "a call does nothing before `send`"]
pub struct ReqwestCall<Inner = Unary> {
    stack: ReqwestStack<Inner>,
    request: Result<RequestBuilder, InvalidTarget>,
}

impl<Inner> ReqwestCall<Inner> {
    pub(super) fn new(stack: ReqwestStack<Inner>, request: Result<RequestBuilder, InvalidTarget>) -> Self {
        Self { stack, request }
    }

    /// Adds to the request what a `reqwest::RequestBuilder` can say: headers, a query, a body. The builder is handed back and not sent: sent by itself, it
    /// would go past the stack.
    pub fn with(mut self, add: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        self.request = self.request.map(add);
        self
    }

    /// Sends it over the stack.
    ///
    /// # Cancel safety
    ///
    /// That of the stack: a dropped call starts nothing more.
    ///
    /// # Errors
    ///
    /// A [`Failure`]; a path or a builder of which no request comes is one, too, never sent and permanent, with [`InvalidTarget`] or
    /// `reqwest::Error` as its cause.
    pub async fn send(self) -> Result<Response, Failure>
    where
        Inner: Service<Request, Response = Response, Error = Failure>,
    {
        let request = self.request.map_err(BoxError::from).and_then(|request| Ok(request.build()?));
        match request {
            Ok(request) => self.stack.oneshot(request).await,
            Err(error) => Err(Failure::new(Verdict::never_sent().permanent(), error)),
        }
    }
}

impl<Inner> fmt::Debug for ReqwestCall<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReqwestCall").finish_non_exhaustive()
    }
}
