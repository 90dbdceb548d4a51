//! A handle: one origin, and a client of its own.

use std::{
    fmt,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error, ResponseFuture, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tower::BoxError;
use tower_service::Service;

use crate::Origin;

/// One instance of a service: its origin and an HTTP/1 client of its own, whose pool no other handle shares.
///
/// The pool belongs to the handle because a frozen connection must go with it: were only the address evicted, the next call would find the
/// same connection in a shared pool. Cloning shares the pool; the pool is closed after the last user.
///
/// Requests may name any authority, or none: they go to the origin. hyper-util resends a request that a reused connection gave back
/// untouched; that is safe, and no attempt.
///
/// # Errors
///
/// hyper-util's own, as [`HttpClassifier`](crate::HttpClassifier) knows them.
pub struct OriginHandle<RequestBody> {
    origin: Origin,
    client: Client<HttpConnector, RequestBody>,
}

impl<RequestBody> OriginHandle<RequestBody>
where
    RequestBody: Body + Send + 'static,
    RequestBody::Data: Send,
{
    /// A client for this origin. A TCP connection that is not made within the time-out proves that nothing was sent; looking up a host name is
    /// not part of it.
    #[must_use]
    pub fn new(origin: Origin, connect_timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(connect_timeout));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Self { origin, client }
    }

    /// Where the requests go.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl<RequestBody> Service<Request<RequestBody>> for OriginHandle<RequestBody>
where
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> ResponseFuture {
        let uri = std::mem::take(request.uri_mut());
        *request.uri_mut() = self.origin.absolute(uri);
        // The version is the connection's business: a request that came in over HTTP/2 is forwarded over what this client speaks.
        *request.version_mut() = Version::HTTP_11;
        self.client.request(request)
    }
}

impl<RequestBody> Clone for OriginHandle<RequestBody> {
    fn clone(&self) -> Self {
        Self { origin: self.origin.clone(), client: self.client.clone() }
    }
}

impl<RequestBody> fmt::Debug for OriginHandle<RequestBody> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OriginHandle").field("origin", &self.origin).finish_non_exhaustive()
    }
}
