//! What comes before the first request: an act of the connection's, and the TLS handshake.

use tokio::net::TcpStream;

use super::{
    ConnectionAct,
    connection::Ending,
    shared::Shared,
    transport::{Transport, close_on_drop},
};

/// A connection that is ready to be served, or to be ended.
pub(super) struct Opened {
    pub(super) transport: Transport,
    /// How to end it without serving it.
    pub(super) ending: Option<Ending>,
}

impl Opened {
    pub(super) fn serve(transport: Transport) -> Self {
        Self { transport, ending: None }
    }

    pub(super) fn end(socket: TcpStream, ending: Ending) -> Self {
        Self { transport: Transport::Plain(socket), ending: Some(ending) }
    }
}

/// Opens a connection; `None` if nothing is left of it. The socket is one that is reset on a drop, and is not so any more afterwards.
pub(super) async fn open(socket: TcpStream, act: ConnectionAct, shared: &Shared) -> Option<Opened> {
    let opened = match act {
        ConnectionAct::Serve => serve(socket, shared).await,
        ConnectionAct::CloseAtAccept => Some(Opened::end(socket, Ending::Close)),
        ConnectionAct::ResetAtAccept => Some(Opened::end(socket, Ending::Reset)),
        ConnectionAct::FreezeAtAccept { until } => {
            until.begin(shared.freeze.now()).over(&shared.freeze).await;
            serve(socket, shared).await
        }
        ConnectionAct::CutHandshake => cut(socket, Ending::Close, shared).await,
        ConnectionAct::ResetHandshake => cut(socket, Ending::Reset, shared).await,
    };
    if let Some(opened) = &opened {
        close_on_drop(opened.transport.socket());
    }
    opened
}

async fn serve(socket: TcpStream, shared: &Shared) -> Option<Opened> {
    #[cfg(feature = "tls")]
    if let Some(config) = &shared.tls {
        return super::tls::shake_hands(socket, config, &shared.counts).await;
    }
    let _ = shared;
    Some(Opened::serve(Transport::Plain(socket)))
}

async fn cut(socket: TcpStream, ending: Ending, shared: &Shared) -> Option<Opened> {
    #[cfg(feature = "tls")]
    if shared.tls.is_some() {
        return match super::tls::read_client_hello(socket, &shared.counts).await {
            Ok(begun) => Some(Opened::end(begun.io, ending)),
            Err(socket) => Some(Opened::end(socket?, ending)),
        };
    }
    let _ = shared;
    // Fails if the client was faster: then it has ended already, and that is seen later.
    let _ = socket.peek(&mut [0]).await;
    Some(Opened::end(socket, ending))
}
