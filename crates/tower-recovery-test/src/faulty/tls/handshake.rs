//! The server's side of a handshake, in two steps.

use std::sync::Arc;

use rustls::{ServerConfig, server::Acceptor};
use tokio::net::TcpStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use super::super::{connection::Ending, opening::Opened, shared::Counts, transport::Transport};

/// Reads the client's first message. If there is none, what is left of the connection comes back.
pub(in super::super) async fn read_client_hello(
    socket: TcpStream,
    counts: &Counts,
) -> Result<StartHandshake<TcpStream>, Option<TcpStream>> {
    let mut acceptor = LazyConfigAcceptor::new(Acceptor::default(), socket);
    match (&mut acceptor).await {
        Ok(begun) => {
            counts.handshakes.increment();
            Ok(begun)
        }
        Err(_) => Err(acceptor.take_io()),
    }
}

/// Speaks TLS from here on. A handshake that fails ends in order, so that the alert that says why is not lost in a reset.
pub(in super::super) async fn shake_hands(
    socket: TcpStream,
    config: &Arc<ServerConfig>,
    counts: &Counts,
) -> Option<Opened> {
    let begun = match read_client_hello(socket, counts).await {
        Ok(begun) => begun,
        Err(socket) => return Some(Opened::end(socket?, Ending::Close)),
    };
    match begun.into_stream(Arc::clone(config)).into_fallible().await {
        Ok(stream) => {
            counts.handshakes_completed.increment();
            Some(Opened::serve(Transport::Tls(Box::new(stream))))
        }
        Err((_, socket)) => Some(Opened::end(socket, Ending::Close)),
    }
}
