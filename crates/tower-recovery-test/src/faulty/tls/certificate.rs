//! A certificate with its key.

use std::{fmt, sync::Arc};

use rcgen::KeyPair;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// A server's certificate, signed by a [`CertificateAuthority`](super::CertificateAuthority), and the key to it.
pub struct Certificate {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Certificate {
    pub(super) fn new(certificate: CertificateDer<'static>, key: &KeyPair) -> Self {
        Self { certificate, key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() }
    }

    /// The certificate in DER.
    #[must_use]
    pub fn der(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// The server side that shows this certificate and speaks one protocol.
    pub(in super::super) fn server_config(self, alpn: &[u8]) -> Arc<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has what the default versions need")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate], self.key)
            .expect("the key was made for the certificate");
        config.alpn_protocols = vec![alpn.to_vec()];
        Arc::new(config)
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is nobody's business, not even a throw-away one.
        formatter.debug_struct("Certificate").finish_non_exhaustive()
    }
}
