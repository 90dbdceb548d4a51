//! The stack: a service of reqwest's own types, and requests by their path.

use std::{
    fmt,
    task::{Context, Poll},
};

use http::Method;
use tower::util::MapResponse;
use tower_recovery::{Dispatch, Failure};
use tower_service::Service;

use super::{
    ReqwestCall, ReqwestHandle, ReqwestRules,
    library::{Body, Client, Request, Response},
    target::target,
};
use crate::{
    CollectedBody, StreamedBody,
    collect::Collect,
    front_door::{Stack, StreamsOver},
    streamed::Streamed,
};

/// The stack over reqwest, for unary calls: a `tower::Service` of `reqwest::Request` that answers with `reqwest::Response`, its body collected.
///
/// [`get`](Self::get) and its like build a request by its path and send it over a clone of the stack. A clone shares handle, budget and pools.
///
/// # Errors
///
/// [`Failure`].
#[derive(Clone)]
pub struct ReqwestStack<Inner = Unary> {
    inner: Inner,
    // Makes builders, and sends nothing.
    client: Client,
}

/// The same, for answers whose bodies are still to be read.
pub type StreamingReqwestStack = ReqwestStack<Streaming>;

/// What a [`ReqwestStack`] for unary calls is made of.
pub type Unary = Closing<Collect<Dispatch>, CollectedBody>;

/// What a [`StreamingReqwestStack`] is made of.
pub type Streaming = Closing<Streamed<Dispatch>, StreamedBody<Body>>;

/// The front door of a stream route over reqwest. Requests are reqwest's own, and what is admitted is made reqwest's own by
/// [`into_response`](super::into_response).
pub type ReqwestStreams = StreamsOver<ReqwestHandle, ReqwestRules>;

/// The response is reqwest's own only above the layers, which know that of http.
type Closing<Leaf, ResponseBody> =
    MapResponse<Stack<ReqwestHandle, ReqwestRules, Leaf>, fn(http::Response<ResponseBody>) -> Response>;

impl<Inner> ReqwestStack<Inner> {
    pub(super) fn new(inner: Inner, client: Client) -> Self {
        Self { inner, client }
    }
}

/// Requests by their path, such as `/files?limit=3`. An absolute URL will do too: its scheme, host and port are the instance's in any case.
impl<Inner: Clone> ReqwestStack<Inner> {
    /// A request with this method.
    pub fn request(&self, method: Method, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        let request = target(path.as_ref()).map(|url| self.client.request(method, url));
        ReqwestCall::new(self.clone(), request)
    }

    /// A `GET`.
    pub fn get(&self, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        self.request(Method::GET, path)
    }

    /// A `POST`.
    pub fn post(&self, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        self.request(Method::POST, path)
    }

    /// A `PUT`.
    pub fn put(&self, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        self.request(Method::PUT, path)
    }

    /// A `PATCH`.
    pub fn patch(&self, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        self.request(Method::PATCH, path)
    }

    /// A `DELETE`.
    pub fn delete(&self, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        self.request(Method::DELETE, path)
    }

    /// A `HEAD`.
    pub fn head(&self, path: impl AsRef<str>) -> ReqwestCall<Inner> {
        self.request(Method::HEAD, path)
    }
}

impl<Inner> Service<Request> for ReqwestStack<Inner>
where
    Inner: Service<Request, Response = Response, Error = Failure>,
{
    type Response = Response;
    type Error = Failure;
    type Future = Inner::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.inner.call(request)
    }
}

impl<Inner> fmt::Debug for ReqwestStack<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReqwestStack").finish_non_exhaustive()
    }
}
