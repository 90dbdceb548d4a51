//! Who signs the certificates of a test.

use std::{fmt, sync::Arc};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};

use super::Certificate;

/// A certificate authority that nobody knows but the test: it is made for it, kept in memory, and thrown away. Clones are the same one.
///
/// ```
/// use tower_recovery_test::{FaultyServer, faulty::CertificateAuthority};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let authority = CertificateAuthority::new();
/// let server = FaultyServer::builder().tls(authority.certificate()).start().await?;
/// assert!(server.origin().starts_with("https://127.0.0.1:"));
///
/// let client_side: rustls::ClientConfig = authority.client_config();
/// # let _ = client_side;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CertificateAuthority(Arc<CertifiedIssuer<'static, KeyPair>>);

impl CertificateAuthority {
    /// Makes an authority that differs from all others.
    ///
    /// # Panics
    ///
    /// If the system gives no random numbers.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = new_key();
        // A name of its own, or else who trusts another authority would take the certificates of this one for forged.
        let name = format!("throw-away authority {:02x?}", key.public_key_raw().rchunks(8).next());
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, key).expect("the parameters are fixed and valid");
        Self(Arc::new(issuer))
    }

    /// A good certificate, for `localhost` and for `127.0.0.1`.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        self.sign(["localhost", "127.0.0.1"], |_| {})
    }

    /// As [`certificate`](Self::certificate), but expired in 2021.
    #[must_use]
    pub fn expired_certificate(&self) -> Certificate {
        self.sign(["localhost", "127.0.0.1"], |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    /// A good certificate for another server, `elsewhere.test`.
    #[must_use]
    pub fn certificate_of_another_name(&self) -> Certificate {
        self.sign(["elsewhere.test"], |_| {})
    }

    /// The authority's own certificate, which who trusts it adds to its roots, in DER.
    #[must_use]
    pub fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// The authority's own certificate, which who trusts it adds to its roots, in PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A client side that trusts this authority and no other, with *ring* for its cryptography, whatever the process has as its default.
    ///
    /// It names no ALPN protocols: who connects with it by hand adds them, and HTTP clients do that themselves.
    #[must_use]
    pub fn client_config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).expect("the authority's certificate is one");
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has what the default versions need")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }

    fn sign<const NAMES: usize>(
        &self,
        names: [&str; NAMES],
        adjust: impl FnOnce(&mut CertificateParams),
    ) -> Certificate {
        let mut params = CertificateParams::new(names.map(str::to_owned)).expect("the names are fixed and valid");
        adjust(&mut params);
        let key = new_key();
        let signed = params.signed_by(&key, &self.0).expect("the parameters are fixed and valid");
        Certificate::new(signed.der().clone(), &key)
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("the system gives random numbers")
}

impl Default for CertificateAuthority {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CertificateAuthority").finish_non_exhaustive()
    }
}
