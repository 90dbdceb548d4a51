//! Connections over TLS, and what is spoken on them.

use std::task::{Context, Poll};

use futures_util::{FutureExt, future::BoxFuture};
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{Connection, HttpConnector},
    rt::TokioIo,
};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower::BoxError;
use tower_service::Service;

use super::{Protocol, plain};

/// Connects over TLS, and takes no connection that speaks another protocol than it must.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: HttpsConnector<HttpConnector>,
    protocol: Protocol,
}

impl Tls {
    pub(super) fn new(configuration: &ClientConfig, protocol: Protocol) -> Self {
        let mut configuration = configuration.clone();
        configuration.alpn_protocols.clear();
        let builder = HttpsConnectorBuilder::new().with_tls_config(configuration).https_only();
        let connector = match protocol {
            Protocol::Http1 => builder.enable_http1().wrap_connector(plain()),
            #[cfg(feature = "http2")]
            Protocol::Http2 => builder.enable_http2().wrap_connector(plain()),
            #[cfg(feature = "http2")]
            Protocol::Negotiated => builder.enable_all_versions().wrap_connector(plain()),
        };
        Self { connector, protocol }
    }
}

impl Service<Uri> for Tls {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let protocol = self.protocol;
        self.connector.call(uri).map(move |connected| accept(connected?, protocol)).boxed()
    }
}

/// A server that knows no ALPN chooses nothing, and would be spoken HTTP/2 to all the same.
fn accept<Stream: Connection>(stream: Stream, protocol: Protocol) -> Result<Stream, BoxError> {
    match protocol {
        #[cfg(feature = "http2")]
        Protocol::Http2 if !stream.connected().is_negotiated_h2() => Err(rustls::Error::NoApplicationProtocol.into()),
        _ => Ok(stream),
    }
}
