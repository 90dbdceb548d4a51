//! Through TLS, which ends before the server, as it does in front of a real one.

use std::{net::SocketAddr, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;
use tower_recovery_hypha::{Call, ConnectError, HyphaClient, StartError, Value};

use crate::hypha::{echoing, probe, with_hypha};

/// What ends TLS; it ends with this.
struct Terminator {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    _tasks: JoinSet<()>,
}

impl Terminator {
    async fn before(upstream: SocketAddr) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    let mut secure = acceptor.accept(stream).await?;
                    let mut plain = TcpStream::connect(upstream).await?;
                    copy_bidirectional(&mut secure, &mut plain).await
                });
            }
        });
        Self { address, certificate, _tasks: tasks }
    }
}

fn trusting(certificates: &[CertificateDer<'static>]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

#[tokio::test]
async fn a_client_calls_and_serves_through_tls() {
    with_hypha(async |hypha| {
        let terminator = Terminator::before(hypha.server.url().trim_start_matches("http://").parse().unwrap()).await;
        let builder = |host: &str| {
            let url = format!("https://{host}:{}", terminator.address.port());
            HyphaClient::builder(url).token(hypha.server.token()).client_id("secure")
        };
        for host in ["127.0.0.1", "localhost"] {
            let trusting = trusting(std::slice::from_ref(&terminator.certificate));
            let client = builder(host).tls(trusting).connect().await.unwrap();
            client.offer(echoing("secure")).await.unwrap();
            let long = Value::Binary(vec![7; 1 << 20]);
            let back = probe(&client).await.call_method(Call::new("echo").arg(long.clone())).await.unwrap();
            assert!(back == long);
            assert!(hypha.user.call("secure", "echo", [long.clone()], []).await.unwrap() == long);
            client.close().await;
        }
        match builder("127.0.0.1").tls(trusting(&[])).connect().await {
            Err(StartError::Connect(error)) => assert!(matches!(*error, ConnectError::Tls(_)), "{error:?}"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}
