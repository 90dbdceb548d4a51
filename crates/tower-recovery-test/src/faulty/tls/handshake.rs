//! The server's side of a handshake, in two steps.

use std::sync::Arc;

use rustls::{ServerConfig, server::Acceptor};
use tokio::net::TcpStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use super::super::{connection::Ending, opening::Opened, shared::Counts, transport::Transport};

/// Reads the client's first message; `None` if there is none, and nothing left of the connection.
pub(in super::super) async fn read_client_hello(
    socket: TcpStream,
    counts: &Counts,
) -> Option<StartHandshake<TcpStream>> {
    let begun = LazyConfigAcceptor::new(Acceptor::default(), socket).await.ok()?;
    counts.handshakes.increment();
    Some(begun)
}

pub(in super::super) async fn shake_hands(
    socket: TcpStream,
    config: &Arc<ServerConfig>,
    counts: &Counts,
) -> Option<Opened> {
    let begun = read_client_hello(socket, counts).await?;
    match begun.into_stream(Arc::clone(config)).into_fallible().await {
        Ok(stream) => {
            counts.handshakes_completed.increment();
            Some(Opened::serve(Transport::Tls(Box::new(stream))))
        }
        // An alert has told the one side or the other: it must not be lost in a reset.
        Err((_, socket)) => Some(Opened::end(socket, Ending::Close)),
    }
}
