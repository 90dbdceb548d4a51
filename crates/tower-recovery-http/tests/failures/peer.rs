//! Who is connected to.

use std::{io, net::SocketAddr, sync::LazyLock, time::Duration};

use bytes::Bytes;
use http::Response;
use socket2::{Domain, Socket, Type};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tower_recovery_test::{
    FaultyServer,
    faulty::{CertificateAuthority, RefusedAddress, RequestContext},
};

use crate::{
    case::{Failure, PeerKind, Shown},
    clients::{Column, Http},
};

/// What is at the other end, for as long as this lives.
pub(crate) enum Peer {
    Server(FaultyServer),
    Nobody(RefusedAddress),
    UnknownName,
    BlackHole(&'static BlackHole),
    Garbage(SocketAddr),
}

impl Peer {
    /// Made for one cell. With a server's certificate comes who trusts its authority.
    pub(crate) async fn start(failure: &Failure, column: &Column) -> (Self, Option<rustls::ClientConfig>) {
        let mut server = FaultyServer::builder();
        let mut trusting = None;
        match failure.peer {
            PeerKind::Nobody => {
                return (Self::Nobody(FaultyServer::refused_address().expect("a port is free")), None);
            }
            PeerKind::UnknownName => return (Self::UnknownName, None),
            PeerKind::BlackHole => return (Self::BlackHole(&BLACK_HOLE), None),
            PeerKind::Garbage => return (Self::Garbage(garbage().await.expect("a port is free")), None),
            PeerKind::Plain(act) => server = server.at_accept(move |_| act),
            PeerKind::Tls(act, shown) => {
                let authority = CertificateAuthority::new();
                trusting = Some(authority.client_config());
                server = server.at_accept(move |_| act).tls(match shown {
                    Shown::Good => authority.certificate(),
                    Shown::Expired => authority.expired_certificate(),
                    Shown::OfAnotherName => authority.certificate_of_another_name(),
                    Shown::OfAStranger => CertificateAuthority::new().certificate(),
                });
            }
        }
        if column.http == Http::Two {
            server = server.http2();
        }
        if let Some(script) = failure.stream {
            server = server.streams(script());
        }
        let (before, act, status) = (failure.before(column), failure.act, failure.status);
        let script = move |request: &RequestContext| match (request.request_id.as_str(), before) {
            (BEFORE, Some(before)) => before,
            _ => act,
        };
        let application = move |request: &http::Request<Bytes>| {
            let is_before = request.headers()["x-request-id"] == BEFORE;
            let mut response = Response::new(Bytes::from_static(b"done"));
            *response.status_mut() = status.try_into().ok().filter(|_| !is_before).unwrap_or_default();
            response
        };
        (Self::Server(server.script(script).application(application).start().await.expect("a port is free")), trusting)
    }

    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Server(server) => server.origin(),
            Self::Nobody(nobody) => nobody.origin(),
            // Longer than a label of a name may be: no resolver needs to ask anybody.
            Self::UnknownName => format!("http://{}.invalid", "x".repeat(64)),
            Self::BlackHole(BlackHole { address, .. }) | Self::Garbage(address) => format!("http://{address}"),
        }
    }

    pub(crate) fn server(&self) -> Option<&FaultyServer> {
        match self {
            Self::Server(server) => Some(server),
            _ => None,
        }
    }
}

/// The id of the call before.
pub(crate) const BEFORE: &str = "before";

/// The id of the call that a cell is about.
pub(crate) const CALL: &str = "call";

/// Answers one request of HTTP/1 with what is not HTTP, when its head has come.
async fn garbage() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await?;
        let mut read = Vec::new();
        while !read.windows(4).any(|end| end == b"\r\n\r\n") {
            socket.read_buf(&mut read).await?;
        }
        socket.write_all(b"this is not HTTP\r\n\r\n").await?;
        // Until the client is content, or rather is not.
        socket.read_to_end(&mut read).await
    });
    Ok(address)
}

/// One for all, since to find out that it is full takes a while.
static BLACK_HOLE: LazyLock<BlackHole> = LazyLock::new(|| BlackHole::new().expect("a port is free"));

/// A listener whose queue is full, so that the system leaves every further `SYN` unanswered.
pub(crate) struct BlackHole {
    address: SocketAddr,
    _listener: Socket,
    _queued: Vec<Socket>,
}

impl BlackHole {
    fn new() -> io::Result<Self> {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        listener.listen(0)?;
        let address = listener.local_addr()?;
        let mut queued = Vec::new();
        loop {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            let connected = socket.connect_timeout(&address, Duration::from_millis(200));
            match connected {
                Ok(()) => queued.push(socket),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => break,
                Err(error) => return Err(error),
            }
            assert!(queued.len() < 1_000, "a queue for none has room for everybody");
        }
        let address = address.as_socket().expect("it was bound to an address of IP");
        Ok(Self { address, _listener: listener, _queued: queued })
    }
}
