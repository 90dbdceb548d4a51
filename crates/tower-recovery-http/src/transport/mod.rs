//! How origins are reached.

mod bounded;
#[cfg(feature = "rustls")]
mod tls;

use std::{fmt, time::Duration};

use hyper_util::client::legacy::connect::HttpConnector;

pub(crate) use self::bounded::Bounded;
pub use self::bounded::ConnectTimedOut;
#[cfg(feature = "rustls")]
pub(crate) use self::tls::Tls;
use crate::{InvalidOrigin, Origin};

/// Makes connections in cleartext.
pub(crate) type PlainConnector = Bounded<HttpConnector>;

/// Makes connections over TLS.
#[cfg(feature = "rustls")]
pub(crate) type TlsConnector = Bounded<Tls>;

/// How an origin is reached: the time for making a connection, the protocol that is spoken on it, and TLS.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tower_recovery_http::Transport;
///
/// let transport = Transport::new().connect_timeout(Duration::from_secs(2));
/// # let _ = transport;
/// ```
#[derive(Clone)]
pub struct Transport {
    connect_timeout: Option<Duration>,
    protocol: Protocol,
    #[cfg(feature = "rustls")]
    tls: Option<std::sync::Arc<rustls::ClientConfig>>,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by prior knowledge over cleartext (RFC 9113 §3.3), offered alone over TLS.
    ///
    /// Its `REFUSED_STREAM` is proof only from the server itself: behind a proxy set [`Intermediary::Present`](crate::Intermediary::Present).
    #[cfg(feature = "http2")]
    Http2,
    /// Over TLS what the server chooses of HTTP/2 and HTTP/1.1 (ALPN); HTTP/1.1 over cleartext.
    #[cfg(feature = "http2")]
    Negotiated,
}

impl Transport {
    const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// HTTP/1.1 over cleartext, and 5 s for making a connection.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connect_timeout: None,
            protocol: Protocol::default(),
            #[cfg(feature = "rustls")]
            tls: None,
        }
    }

    /// How long making a connection may take: looking up the name, TCP and TLS together. After that nothing was sent.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = Some(limit);
        self
    }

    /// What is spoken.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Reaches origins of the scheme `https` with this configuration, which all handles share. Its ALPN protocols are set by
    /// [`protocol`](Self::protocol).
    #[cfg(feature = "rustls")]
    #[must_use]
    pub fn tls(mut self, configuration: impl Into<std::sync::Arc<rustls::ClientConfig>>) -> Self {
        self.tls = Some(configuration.into());
        self
    }

    /// The time for making a connection, if it was set.
    pub(crate) fn explicit_connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// The time for making a connection.
    pub(crate) fn connect_limit(&self) -> Duration {
        self.connect_timeout.unwrap_or(Self::DEFAULT_CONNECT_TIMEOUT)
    }

    /// What is set beside the time, by name and value. A client that makes its own connections must not ignore it silently.
    #[cfg(any(feature = "reqwest", feature = "reqwest-0-12"))]
    pub(crate) fn set_beside_the_time(&self) -> Option<(&'static str, String)> {
        #[cfg(feature = "rustls")]
        if self.tls.is_some() {
            return Some(("tls", "set".to_owned()));
        }
        (self.protocol != Protocol::default()).then(|| ("protocol", format!("{:?}", self.protocol)))
    }

    /// Makes connections to this origin: in cleartext or over TLS, as its scheme says.
    pub(crate) fn connector(&self, origin: &Origin) -> Result<Connector, InvalidOrigin> {
        let limit = self.connect_limit();
        if !origin.is_https() {
            return Ok(Connector::Plain(Bounded::new(plain(), origin.uri(), limit)));
        }
        #[cfg(feature = "rustls")]
        if let Some(tls) = &self.tls {
            return Ok(Connector::Tls(Bounded::new(Tls::new(tls, self.protocol), origin.uri(), limit)));
        }
        Err(origin.refuse("of the scheme http, since no TLS is configured"))
    }

    /// Whether HTTP/2 may be spoken.
    pub(crate) fn may_be_http2(&self) -> bool {
        self.protocol != Protocol::Http1
    }

    /// Whether it must be HTTP/2, without asking.
    pub(crate) fn is_http2_alone(&self) -> bool {
        match self.protocol {
            #[cfg(feature = "http2")]
            Protocol::Http2 => true,
            _ => false,
        }
    }
}

impl Default for Transport {
    fn default() -> Self {
        Self::new()
    }
}

/// What makes connections.
#[derive(Clone)]
pub(crate) enum Connector {
    Plain(PlainConnector),
    #[cfg(feature = "rustls")]
    Tls(TlsConnector),
}

fn plain() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.enforce_http(false);
    connector
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Transport")
            .field("connect_timeout", &self.connect_timeout)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}
