//! The server: a registry of ids, which can forget them while the sockets stay open.
//!
//! It does what was measured at a real one, the faults included.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard},
};

use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
    time::Instant,
};

use super::wire::Wire;

/// What may be asked over any connection.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    Echo,
    LookUp { id: String },
    Register { id: String, address: SocketAddr },
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Reply {
    Echo,
    Found(Option<Key>),
    Registered,
    Refused,
}

/// What the registry holds under an id.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The connection over which it was registered.
    pub(crate) connection: u64,
    /// Where the process is called.
    pub(crate) address: SocketAddr,
}

/// A question that was answered.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    pub(crate) connection: u64,
    pub(crate) question: Question,
}

pub(crate) struct Registry {
    address: SocketAddr,
    books: Arc<Mutex<Books>>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Books {
    keys: HashMap<String, Key>,
    /// Which open connection has an id, whether its key is still there or not.
    holders: HashMap<String, u64>,
    log: Vec<Entry>,
}

impl Registry {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let books = Arc::<Mutex<Books>>::default();
        let server = tokio::spawn(accept(listener, Arc::clone(&books)));
        Ok(Self { address, books, server })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forgets every id at this moment. Nobody is told, and no socket is closed.
    pub(crate) fn drop_keys(&self) -> Instant {
        let mut books = lock(&self.books);
        books.keys.clear();
        Instant::now()
    }

    pub(crate) fn log(&self) -> Vec<Entry> {
        lock(&self.books).log.clone()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn accept(listener: TcpListener, books: Arc<Mutex<Books>>) {
    let mut connections = JoinSet::new();
    for number in 1.. {
        let Ok((stream, _)) = listener.accept().await else { return };
        let books = Arc::clone(&books);
        connections.spawn(async move {
            let mut wire = Wire::new(stream);
            let _ended = serve(&mut wire, number, &books).await;
            // Before the socket is closed: whoever has waited for that finds the id free.
            lock(&books).forget_connection(number);
        });
    }
}

async fn serve(wire: &mut Wire, number: u64, books: &Mutex<Books>) -> io::Result<()> {
    wire.write(&number).await?;
    loop {
        let question = wire.read().await?;
        let reply = lock(books).answer(number, question);
        wire.write(&reply).await?;
    }
}

impl Books {
    fn answer(&mut self, connection: u64, question: Question) -> Reply {
        self.log.push(Entry { at: Instant::now(), connection, question: question.clone() });
        match question {
            // An open socket answers, whatever the registry holds.
            Question::Echo => Reply::Echo,
            Question::LookUp { id } => Reply::Found(self.keys.get(&id).cloned()),
            Question::Register { id, address } => self.register(connection, id, address),
        }
    }

    fn register(&mut self, connection: u64, id: String, address: SocketAddr) -> Reply {
        match self.holders.get(&id) {
            None => {
                self.holders.insert(id.clone(), connection);
                self.keys.insert(id, Key { connection, address });
                Reply::Registered
            }
            // A success, and nothing is written: also where the key is gone.
            Some(holder) if *holder == connection => Reply::Registered,
            // The second one is refused, and the first one pays for it.
            Some(_) => {
                self.keys.remove(&id);
                Reply::Refused
            }
        }
    }

    fn forget_connection(&mut self, number: u64) {
        self.holders.retain(|_, holder| *holder != number);
        self.keys.retain(|_, key| key.connection != number);
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().expect("no holder panics")
}
