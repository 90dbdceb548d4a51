//! A proxy as a process of its own, which ends with the value that stands for it.

use std::net::SocketAddr;

use tower_recovery_http::Protocol;
use tower_recovery_test::{FaultyServer, faulty::RefusedAddress};

use super::proxy_config::{Addresses, Kind, configuration};
use crate::servers::{Program, Server};

/// A proxy that runs.
pub(crate) struct RealProxy {
    _server: Server,
    http1: RefusedAddress,
    http2: RefusedAddress,
}

impl RealProxy {
    /// Starts a proxy before this backend; `None` where it is not installed and need not be.
    pub(crate) async fn start(kind: Kind, backend: SocketAddr) -> Option<Self> {
        // Nobody else is given these ports before the proxy listens there.
        let [http1, http2] = [(), ()].map(|()| FaultyServer::refused_address().expect("there are free ports"));
        let addresses = Addresses { http1: http1.address(), http2: http2.address(), backend };
        let program = Program {
            name: kind.program(),
            configuration: |directory: &_| configuration(kind, addresses, directory),
            arguments: kind.arguments(),
        };
        let server = Server::start(program, &[addresses.http1, addresses.http2]).await?;
        Some(Self { _server: server, http1, http2 })
    }

    pub(crate) fn address(&self, protocol: Protocol) -> SocketAddr {
        match protocol {
            Protocol::Http1 => self.http1.address(),
            Protocol::Http2 => self.http2.address(),
            other => panic!("no proxy listens for {other:?}"),
        }
    }
}
