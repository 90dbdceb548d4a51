//! What listens on a port of loopback, and can refuse for a while: the faulty server and the cutting proxy.

mod accept;
mod port;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{net::TcpStream, sync::watch};

use self::accept::Accepting;
pub(crate) use self::port::Port;
use crate::lock::lock;

/// What is done with a connection.
pub(crate) trait Serve: Send + Sync + 'static {
    /// Lives as long as the connection, or until `refused` says so: then it resets it. Called in the order of acceptance; the future runs in a task
    /// of its own.
    fn serve(
        self: &Arc<Self>,
        stream: TcpStream,
        refused: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// A port, and who is served there. Dropped, it aborts its tasks, by which all of its sockets are closed.
#[derive(Debug)]
pub(crate) struct Listening {
    port: Port,
    /// `None` while it refuses.
    accepting: Mutex<Option<Accepting>>,
}

impl Listening {
    /// On a free port of 127.0.0.1.
    pub(crate) fn start(server: &Arc<impl Serve>) -> io::Result<Self> {
        let (port, listener) = Port::reserve_and_listen()?;
        let accepting = Accepting::spawn(listener, Arc::clone(server));
        Ok(Self { port, accepting: Mutex::new(Some(accepting)) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Refuses new connections and resets the existing ones. When this returns, that is done.
    pub(crate) async fn refuse(&self) {
        let accepting = lock(&self.accepting).take();
        if let Some(accepting) = accepting {
            accepting.refuse().await;
        }
    }

    /// Accepts again, at the same address, if it refuses.
    pub(crate) fn accept_again(&self, server: &Arc<impl Serve>) -> io::Result<()> {
        let mut accepting = lock(&self.accepting);
        if accepting.is_none() {
            let listener = self.port.listen()?;
            *accepting = Some(Accepting::spawn(listener, Arc::clone(server)));
        }
        Ok(())
    }
}
