//! One connection, from its acceptance to its end.

use std::sync::Arc;

use tokio::{net::TcpStream, select, sync::watch};

use super::{
    opening::{Opened, open},
    shared::Shared,
    transport::reset_on_drop,
    wire::Wire,
};
use crate::listening::Serve;

/// A connection that was accepted, of which nothing was read.
struct Accepted {
    /// Before `open`, so that the socket is gone when the connection does not count as open any more.
    socket: TcpStream,
    open: Open,
    shared: Arc<Shared>,
    number: usize,
}

/// A connection over which a protocol is spoken.
pub(super) struct Connection {
    /// Before `open`, too.
    pub(super) wire: Wire,
    pub(super) open: Open,
    pub(super) shared: Arc<Shared>,
    pub(super) number: usize,
}

/// How the server ends a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// A FIN, after which the client's bytes are taken until it ends its side.
    Close,
    Reset,
    /// A FIN, after which the client's bytes are met by an RST.
    Abandon,
}

impl Serve for Shared {
    fn serve(
        self: &Arc<Self>,
        socket: TcpStream,
        refused: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let number = self.counts.connections.increment();
        Accepted { socket, open: Open::new(self), shared: Arc::clone(self), number }.live(refused)
    }
}

impl Accepted {
    /// Lives until the script or the client ends the connection, or until the server refuses and so resets it.
    async fn live(self, mut refused: watch::Receiver<bool>) {
        let Self { socket, open: counted, shared, number } = self;
        let act = shared.connection_act(number);
        // For a refusal that comes while the connection is opened.
        reset_on_drop(&socket);
        let opened = select! {
            biased;
            _ = refused.wait_for(|refused| *refused) => return,
            opened = open(socket, act, &shared) => opened,
        };
        let Some(Opened { transport, ending }) = opened else {
            return;
        };
        let connection = Connection { wire: Wire::new(transport), open: counted, shared, number };
        connection.live(ending, refused).await;
    }
}

impl Connection {
    async fn live(mut self, decided: Option<Ending>, mut refused: watch::Receiver<bool>) {
        let ending = select! {
            biased;
            _ = refused.wait_for(|refused| *refused) => Ending::Reset,
            ending = self.live_undisturbed(decided) => ending,
        };
        if let Ending::Reset = ending {
            self.wire.reset_on_drop();
        }
    }

    async fn live_undisturbed(&mut self, decided: Option<Ending>) -> Ending {
        let ending = match decided {
            Some(ending) => ending,
            None => self.serve().await,
        };
        if let Ending::Close = ending {
            self.wire.finish().await;
            self.open.end();
            self.wire.drain().await;
        }
        ending
    }

    async fn serve(&mut self) -> Ending {
        #[cfg(feature = "http2")]
        if self.shared.http2.is_some() {
            return self.serve_http2().await;
        }
        self.serve_http1().await
    }
}

/// One that counts as open until it is ended or dropped.
pub(super) struct Open {
    shared: Arc<Shared>,
    ended: bool,
}

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.counts.open.increment();
        Self { shared: Arc::clone(shared), ended: false }
    }

    pub(super) fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.shared.counts.open.decrement();
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.end();
    }
}
