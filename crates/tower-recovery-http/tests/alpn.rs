//! What is spoken over TLS: HTTP/2 is not spoken to who did not choose it.
#![cfg(all(feature = "http2", feature = "rustls"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use std::{
    io::{self, Read},
    net::TcpListener,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ClientConfig, Error as TlsError, RootCertStore, ServerConfig, ServerConnection, Stream,
    crypto::ring,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};
use tower::{ServiceBuilder, ServiceExt};
use tower_recovery::{Delivery, Failure};
use tower_recovery_http::{ConnectLayer, Origin, Protocol, Transport};
use tower_recovery_test::{Registry, faulty::CertificateAuthority};

use self::support::{Client, NAME, bounded, call, door, registry_of, write};

/// The kit's server offers `http/1.1` alone, and refuses who wants another.
#[tokio::test]
async fn a_server_of_http1_alone_is_not_spoken_http2_to() {
    let authority = CertificateAuthority::new();
    let server = Client::HTTP1[0].serve(|server| server.tls(authority.certificate())).await;
    let registry = registry_of(&server).await;
    for failure in refused(&registry, authority.client_config()).await {
        assert!(failure.find::<TlsError>().is_some(), "{failure:?}");
    }
    assert_eq!((server.handshakes(), server.requests_read(), server.requests_executed()), (2, 0, 0));
}

/// A server that knows no ALPN shakes hands all the same: whether it speaks HTTP/2 nobody said.
#[tokio::test]
async fn a_server_that_chose_nothing_is_not_spoken_http2_to() {
    let (origin, client, server) = without_alpn();
    let registry = Registry::new();
    registry.register(NAME, "first", origin);
    for failure in refused(&registry, client).await {
        assert_eq!(failure.find::<TlsError>(), Some(&TlsError::NoApplicationProtocol), "{failure:?}");
    }
    let received = bounded(tokio::task::spawn_blocking(|| server.join())).await.unwrap().unwrap();
    assert_eq!(received.unwrap(), [0, 0], "not a byte was said to it");
}

/// What a write comes to through the front door, and what a connection by itself does. Nothing was sent, and nothing ever will be.
async fn refused(registry: &Registry<Origin>, tls: ClientConfig) -> [Failure; 2] {
    let transport = Transport::new().protocol(Protocol::Http2).tls(tls);
    let mut api = door(registry).transport(transport.clone()).build::<Full<Bytes>>().unwrap();
    let of_a_pool = bounded(call(&mut api, write("write"))).await.unwrap_err();
    assert_eq!(of_a_pool.attempts(), 1, "{of_a_pool:?}");
    let connecting =
        ServiceBuilder::new().layer(ConnectLayer::<Full<Bytes>>::new(transport)).service(registry.resolver());
    let of_a_connection = Failure::recover(bounded(connecting.oneshot(NAME)).await.unwrap_err());
    for failure in [&of_a_pool, &of_a_connection] {
        assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true), "{failure:?}");
    }
    [of_a_pool, of_a_connection]
}

/// A server of TLS without ALPN, and a client side that trusts it. Comes back with how many bytes each of two connections brought after the handshake.
fn without_alpn() -> (Origin, ClientConfig, JoinHandle<io::Result<[usize; 2]>>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (server, client) = both_sides(certificate.der().clone(), key.serialize_der().into());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
    let serving = thread::spawn(move || Ok([received(&listener, &server)?, received(&listener, &server)?]));
    (origin, client, serving)
}

fn both_sides(
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
) -> (Arc<ServerConfig>, ClientConfig) {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let server =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let server = server.with_no_client_auth().with_single_cert(vec![certificate], key.into()).unwrap();
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    (Arc::new(server), client.with_root_certificates(roots).with_no_client_auth())
}

/// Takes a connection, shakes hands, and reads to its end, or the first that is said.
fn received(listener: &TcpListener, server: &Arc<ServerConfig>) -> io::Result<usize> {
    let (mut socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut connection = ServerConnection::new(Arc::clone(server)).map_err(io::Error::other)?;
    let read = Stream::new(&mut connection, &mut socket).read(&mut [0; 64]);
    assert!(!connection.is_handshaking(), "the handshake was done");
    match read {
        Ok(number) => Ok(number),
        // Without a goodbye of TLS's.
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => Ok(0),
        Err(error) => Err(error),
    }
}
