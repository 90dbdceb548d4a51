//! An address where nobody listens.

use std::{io, net::SocketAddr};

use crate::listening::Port;

/// A loopback address that refuses every connection, for as long as this lives.
///
/// ```
/// use tower_recovery_test::FaultyServer;
///
/// # fn main() -> std::io::Result<()> {
/// let nobody = FaultyServer::refused_address()?;
/// let error = std::net::TcpStream::connect(nobody.address()).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RefusedAddress(Port);

impl RefusedAddress {
    pub(super) fn reserve() -> io::Result<Self> {
        Port::reserve().map(Self)
    }

    /// The address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// The address as an origin, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address())
    }
}
