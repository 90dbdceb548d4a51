//! The byte stream of one connection, with or without TLS.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A connected socket, or the TLS session over one.
#[derive(Debug)]
pub(super) enum Transport {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

impl Transport {
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

/// Lets a socket end with an RST when it is dropped.
pub(crate) fn reset_on_drop(socket: &TcpStream) {
    linger(socket, Some(Duration::ZERO));
}

/// Takes a [`reset_on_drop`] back.
pub(super) fn close_on_drop(socket: &TcpStream) {
    linger(socket, None);
}

fn linger(socket: &TcpStream, time: Option<Duration>) {
    // Fails only on a socket that is gone already, and then there is nothing to reset.
    let _ = SockRef::from(socket).set_linger(time);
}

/// Calls the same method of whatever the transport is.
macro_rules! delegate {
    ($transport:expr, $method:ident ( $($argument:expr),* )) => {
        match $transport.get_mut() {
            Self::Plain(socket) => Pin::new(socket).$method($($argument),*),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        delegate!(self, poll_read(context, buffer))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        delegate!(self, poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, poll_shutdown(context))
    }
}
