//! A handle: one origin, and a client of its own.

use std::{
    fmt,
    task::{Context, Poll},
};

use futures_util::{
    TryFutureExt,
    future::{Either, ErrInto, Ready, ready},
};
use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Builder, Client, ResponseFuture},
    rt::{TokioExecutor, TokioTimer},
};
use tower::BoxError;
use tower_service::Service;

#[cfg(feature = "rustls")]
use crate::transport::TlsConnector;
use crate::{
    InvalidOrigin, Origin, Transport,
    target::{refuse_tunnel, take_host},
    transport::{Connector, PlainConnector},
};

/// One instance of a service: its origin and an HTTP client of its own, whose pool no other handle shares.
///
/// The pool belongs to the handle because a frozen connection must go with it: were only the address evicted, the next call would find the
/// same connection in a shared pool. Cloning shares the pool; the pool is closed after the last user.
///
/// Requests may name any authority, or none: they go to the origin. A `Host` that the caller set names the virtual host; where HTTP/2 may be spoken it is sent as `:authority`, and each such
/// name has connections of its own. hyper-util resends a request that a reused connection gave back
/// untouched; that is safe, and no attempt.
///
/// # Errors
///
/// hyper-util's own, as [`HttpClassifier`](crate::HttpClassifier) knows them. A `CONNECT` is refused, never sent: [`TunnelRefused`](crate::TunnelRefused); so is a
/// `Host` that cannot be sent as `:authority`, where HTTP/2 may be spoken: [`InvalidHost`](crate::InvalidHost).
pub struct OriginHandle<RequestBody> {
    origin: Origin,
    pool: Pool<RequestBody>,
    /// Whether HTTP/2 may be spoken, where a virtual host is named by `:authority` alone.
    may_be_http2: bool,
}

/// A client, by what makes its connections.
enum Pool<RequestBody> {
    Plain(Client<PlainConnector, RequestBody>),
    #[cfg(feature = "rustls")]
    Tls(Client<TlsConnector, RequestBody>),
}

impl<RequestBody> OriginHandle<RequestBody>
where
    RequestBody: Body + Send + 'static,
    RequestBody::Data: Send,
{
    /// A client for this origin, with connections of this kind.
    ///
    /// # Errors
    ///
    /// An origin of the scheme `https` where no TLS is configured.
    pub fn new(origin: Origin, transport: &Transport) -> Result<Self, InvalidOrigin> {
        let builder = client(transport);
        let pool = match transport.connector(&origin)? {
            Connector::Plain(connector) => Pool::Plain(builder.build(connector)),
            #[cfg(feature = "rustls")]
            Connector::Tls(connector) => Pool::Tls(builder.build(connector)),
        };
        Ok(Self { origin, pool, may_be_http2: transport.may_be_http2() })
    }

    /// Where the requests go.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

fn client(transport: &Transport) -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).timer(TokioTimer::new());
    #[cfg(feature = "http2")]
    builder.http2_only(transport.is_http2_alone());
    #[cfg(not(feature = "http2"))]
    let _ = transport;
    builder
}

impl<RequestBody> Service<Request<RequestBody>> for OriginHandle<RequestBody>
where
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Either<ErrInto<ResponseFuture, BoxError>, Ready<Result<Response<Incoming>, BoxError>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> Self::Future {
        let host = match refuse_tunnel(request.method()) {
            Ok(()) if self.may_be_http2 => take_host(request.headers_mut()),
            refused => refused.map(|()| None),
        };
        let authority = match host {
            // hyper-util makes `:authority` of the URI's authority; where the connection goes is the connector's to know.
            Ok(host) => host.map(|(_, authority)| authority),
            Err(refused) => return Either::Right(ready(Err(refused.into()))),
        };
        let uri = std::mem::take(request.uri_mut());
        *request.uri_mut() = self.origin.absolute_as(authority, uri);
        // The version is the connection's business: a request that came in over HTTP/2 is forwarded over what this client speaks.
        *request.version_mut() = Version::HTTP_11;
        let call = match &self.pool {
            Pool::Plain(client) => client.request(request),
            #[cfg(feature = "rustls")]
            Pool::Tls(client) => client.request(request),
        };
        Either::Left(call.err_into())
    }
}

impl<RequestBody> Clone for OriginHandle<RequestBody> {
    fn clone(&self) -> Self {
        Self { origin: self.origin.clone(), pool: self.pool.clone(), may_be_http2: self.may_be_http2 }
    }
}

impl<RequestBody> Clone for Pool<RequestBody> {
    fn clone(&self) -> Self {
        match self {
            Self::Plain(client) => Self::Plain(client.clone()),
            #[cfg(feature = "rustls")]
            Self::Tls(client) => Self::Tls(client.clone()),
        }
    }
}

impl<RequestBody> fmt::Debug for OriginHandle<RequestBody> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OriginHandle").field("origin", &self.origin).finish_non_exhaustive()
    }
}
