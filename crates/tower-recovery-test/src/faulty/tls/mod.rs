//! TLS with throw-away certificates.

mod authority;
mod certificate;
mod handshake;

pub(super) use self::handshake::{read_client_hello, shake_hands};
pub use self::{authority::CertificateAuthority, certificate::Certificate};
