//! How a process is known to its registry: what both contenders do it with.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    registry::{Question, Reply},
    wire::Connection,
};

#[derive(Clone)]
pub(crate) struct Membership {
    pub(crate) id: String,
    /// Where the process is called.
    pub(crate) address: SocketAddr,
    pub(crate) registry: SocketAddr,
    red_echoes: Arc<AtomicUsize>,
}

impl Membership {
    pub(crate) fn new(id: String, address: SocketAddr, registry: SocketAddr) -> Self {
        Self { id, address, registry, red_echoes: Arc::default() }
    }

    pub(crate) async fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.registry).await
    }

    pub(crate) async fn register(&self, connection: &Connection) -> io::Result<()> {
        match connection.ask(&Question::Register { id: self.id.clone(), address: self.address }).await? {
            Reply::Registered => Ok(()),
            _ => Err(io::Error::other("the registry refuses a second connection under one id")),
        }
    }

    /// The status that stayed green. Whether it was so; a connection that the process has closed itself is not asked, and that is not counted.
    pub(crate) async fn echo(&self, connection: &Connection) -> bool {
        let Err(error) = connection.ask(&Question::Echo).await else { return true };
        if error.kind() != io::ErrorKind::NotConnected {
            self.red_echoes.fetch_add(1, Ordering::Relaxed);
        }
        false
    }

    pub(crate) fn red_echoes(&self) -> usize {
        self.red_echoes.load(Ordering::Relaxed)
    }
}
