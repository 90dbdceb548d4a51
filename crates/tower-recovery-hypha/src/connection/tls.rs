//! TLS, where the user gave what it takes.

use std::fmt;

use tokio::net::TcpStream;

use super::open::Transport;
use crate::ConnectError;

/// What it takes.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    #[cfg(feature = "rustls")]
    config: Option<std::sync::Arc<rustls::ClientConfig>>,
}

impl Tls {
    #[cfg(feature = "rustls")]
    pub(crate) fn with(config: std::sync::Arc<rustls::ClientConfig>) -> Self {
        Self { config: Some(config) }
    }

    pub(crate) fn is_there(&self) -> bool {
        #[cfg(feature = "rustls")]
        return self.config.is_some();
        #[cfg(not(feature = "rustls"))]
        false
    }

    #[cfg(feature = "rustls")]
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> Result<Box<dyn Transport>, ConnectError> {
        let Some(config) = &self.config else { return Err(missing()) };
        let name = rustls::pki_types::ServerName::try_from(host.to_owned())
            .map_err(|error| ConnectError::Tls(std::io::Error::other(error)))?;
        let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::clone(config));
        Ok(Box::new(connector.connect(name, stream).await.map_err(ConnectError::Tls)?))
    }

    #[cfg(not(feature = "rustls"))]
    #[expect(clippy::unused_async, reason = "it is awaited where TLS is there")]
    pub(super) async fn connect(&self, _host: &str, _stream: TcpStream) -> Result<Box<dyn Transport>, ConnectError> {
        Err(missing())
    }
}

/// The builder of the client refuses this, so nobody gets here.
fn missing() -> ConnectError {
    ConnectError::Tls(std::io::Error::other("no TLS configuration was given"))
}

/// Without its certificates and keys.
impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tls").field("is_there", &self.is_there()).finish()
    }
}
