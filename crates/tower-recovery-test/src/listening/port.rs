//! Listening sockets on the loopback interface.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections that may wait for their acceptance; the system may lower it.
const BACKLOG: i32 = 4096;

/// A port that is ours for as long as this lives, whether or not somebody listens there.
///
/// A socket that is bound and does not listen refuses connections, as nobody does; but the port cannot be given to another process, nor to
/// a client's own end, in which case the client would connect to itself.
#[derive(Debug)]
pub(crate) struct Port {
    address: SocketAddr,
    /// Missing where the system does not let a second socket be bound beside a listening one.
    reserved: Option<Socket>,
}

impl Port {
    /// Takes a free port. Nobody listens there yet.
    pub(crate) fn reserve() -> io::Result<Self> {
        let socket = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = socket.local_addr()?.as_socket();
        Ok(Self { address: address.expect("a socket bound to an IPv4 address has one"), reserved: Some(socket) })
    }

    /// Takes a free port and listens there.
    pub(crate) fn reserve_and_listen() -> io::Result<(Self, TcpListener)> {
        let mut port = Self::reserve()?;
        match port.listen() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                port.reserved = None;
                port.listen()
            }
            listening => listening,
        }
        .map(|listener| (port, listener))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens here, once more if need be.
    pub(crate) fn listen(&self) -> io::Result<TcpListener> {
        let socket = bind(self.address)?;
        socket.listen(BACKLOG)?;
        TcpListener::from_std(socket.into())
    }
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // The port is bound twice, and again while the connections that the server has closed are still in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
