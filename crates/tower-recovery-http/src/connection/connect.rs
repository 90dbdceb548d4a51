//! From an origin to a connection: a layer round the resolver.

use std::{
    fmt,
    marker::PhantomData,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};
use http_body::Body;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::Connection;
use tower::{BoxError, ServiceExt};
use tower_layer::Layer;
use tower_recovery::{Failure, Resolved, Verdict};
use tower_service::Service;

use super::ConnectionHandle;
use crate::{Origin, Transport, classifier::unconnected, transport::Connector};

/// Makes a resolver of origins one of [`ConnectionHandle`]s: what it finds is connected to.
pub struct ConnectLayer<RequestBody> {
    transport: Transport,
    request_body: PhantomData<fn(RequestBody)>,
}

impl<RequestBody> ConnectLayer<RequestBody> {
    /// Connects in this way.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { transport, request_body: PhantomData }
    }
}

impl<RequestBody, Resolver> Layer<Resolver> for ConnectLayer<RequestBody> {
    type Service = Connect<Resolver, RequestBody>;

    fn layer(&self, resolver: Resolver) -> Self::Service {
        Connect { resolver, transport: self.transport.clone(), request_body: PhantomData }
    }
}

/// The resolver that [`ConnectLayer`] makes.
///
/// # Errors
///
/// The resolver's own error, boxed, or a [`Failure`] with [`NeverSent`](tower_recovery::Delivery::NeverSent) where no connection was made: permanent if its
/// cause is, as that of a certificate that has expired.
pub struct Connect<Resolver, RequestBody> {
    resolver: Resolver,
    transport: Transport,
    request_body: PhantomData<fn(RequestBody)>,
}

impl<Resolver, RequestBody, Target> Service<Target> for Connect<Resolver, RequestBody>
where
    Resolver: Service<Target, Response = Resolved<Origin>>,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    type Response = Resolved<ConnectionHandle<RequestBody>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.resolver.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, target: Target) -> Self::Future {
        let resolving = self.resolver.call(target);
        let transport = self.transport.clone();
        async move {
            let Resolved { identity, handle: origin } = resolving.await.map_err(Into::into)?;
            let handle = connect(origin, &transport).await?;
            Ok(Resolved::new(identity, handle))
        }
        .boxed()
    }
}

async fn connect<RequestBody>(origin: Origin, transport: &Transport) -> Result<ConnectionHandle<RequestBody>, Failure>
where
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    let connector =
        transport.connector(&origin).map_err(|error| Failure::new(Verdict::never_sent().permanent(), error))?;
    let uri = origin.uri();
    match connector {
        Connector::Plain(connector) => {
            let stream = connector.oneshot(uri).await.map_err(not_connected)?;
            open(origin, transport, stream).await
        }
        #[cfg(feature = "rustls")]
        Connector::Tls(connector) => {
            let stream = connector.oneshot(uri).await.map_err(not_connected)?;
            open(origin, transport, stream).await
        }
    }
}

async fn open<Stream, RequestBody>(
    origin: Origin,
    transport: &Transport,
    stream: Stream,
) -> Result<ConnectionHandle<RequestBody>, Failure>
where
    Stream: Read + Write + Connection + Send + Unpin + 'static,
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    let is_http2 = transport.is_http2_alone() || stream.connected().is_negotiated_h2();
    ConnectionHandle::open(origin, stream, is_http2).await.map_err(|error| not_connected(error.into()))
}

fn not_connected(error: BoxError) -> Failure {
    Failure::new(unconnected(error.as_ref()), error)
}

impl<RequestBody> Clone for ConnectLayer<RequestBody> {
    fn clone(&self) -> Self {
        Self::new(self.transport.clone())
    }
}

impl<Resolver: Clone, RequestBody> Clone for Connect<Resolver, RequestBody> {
    fn clone(&self) -> Self {
        Self { resolver: self.resolver.clone(), transport: self.transport.clone(), request_body: PhantomData }
    }
}

impl<RequestBody> fmt::Debug for ConnectLayer<RequestBody> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectLayer").field("transport", &self.transport).finish_non_exhaustive()
    }
}

impl<Resolver, RequestBody> fmt::Debug for Connect<Resolver, RequestBody> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connect").field("transport", &self.transport).finish_non_exhaustive()
    }
}
