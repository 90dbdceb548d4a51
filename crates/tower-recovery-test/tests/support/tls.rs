//! A client over TLS.

use std::{io, sync::Arc};

use rustls::{Error, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_recovery_test::faulty::{Certificate, CertificateAuthority, FaultyServer, FaultyServerBuilder};

pub(crate) async fn start(builder: FaultyServerBuilder, certificate: Certificate) -> FaultyServer {
    builder.tls(certificate).start().await.unwrap()
}

/// Connects as one who trusts the authority, and offers these protocols.
pub(crate) async fn connect(
    server: &FaultyServer,
    authority: &CertificateAuthority,
    alpn: &[&[u8]],
) -> io::Result<TlsStream<TcpStream>> {
    let mut config = authority.client_config();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    let connector = TlsConnector::from(Arc::new(config));
    let socket = TcpStream::connect(server.address()).await?;
    connector.connect(ServerName::try_from("localhost").unwrap(), socket).await
}

/// What the client has against the handshake.
pub(crate) async fn refusal(server: &FaultyServer, authority: &CertificateAuthority, alpn: &[&[u8]]) -> Error {
    let error = connect(server, authority, alpn).await.unwrap_err();
    error.downcast().unwrap()
}
