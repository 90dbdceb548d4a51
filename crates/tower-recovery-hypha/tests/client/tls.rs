//! TLS.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring};
use tokio_rustls::TlsAcceptor;
use tower_recovery_hypha::{ConnectError, HyphaClient, StartError};

use crate::support::{Link, Server, TOKEN, soon};

/// A certificate of its own for this name: the server's side, and the side of those who trust it.
fn configs(name: &str) -> (Arc<ServerConfig>, ClientConfig) {
    let certified = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    (Arc::new(server), client_config(roots))
}

fn client_config(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

async fn connect_by(
    server_config: Arc<ServerConfig>,
    client_config: ClientConfig,
) -> (Option<Link>, Result<HyphaClient, StartError>) {
    let server = Server::start().await;
    let serves = async {
        let stream = server.accept_tcp().await;
        let stream = TlsAcceptor::from(server_config).accept(stream).await.ok()?;
        let mut link = Link::over(stream).await;
        assert_eq!(link.admit().await["token"], TOKEN);
        link.registered().await;
        Some(link)
    };
    let client = HyphaClient::builder(format!("https://{}", server.authority())).token(TOKEN).tls(client_config);
    soon(async { tokio::join!(serves, client.client_id("rust-client").connect()) }).await
}

#[tokio::test]
async fn a_server_whose_certificate_is_trusted_is_connected_to() {
    let (server, client) = configs("127.0.0.1");
    let (link, client) = connect_by(server, client).await;
    let client = client.unwrap();
    assert!(client.status().borrow().is_connected());
    assert!(link.unwrap().frames_until_now().await.is_empty());
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_or_of_another_name_gets_no_token() {
    let (server, _) = configs("127.0.0.1");
    let untrusted = (server, configs("127.0.0.1").1);
    let of_another_name = configs("elsewhere.test");
    for (server, client) in [untrusted, of_another_name] {
        let (link, outcome) = connect_by(server, client).await;
        assert!(link.is_none());
        let Err(StartError::Connect(error)) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(*error, ConnectError::Tls(_)), "{error:?}");
    }
}
