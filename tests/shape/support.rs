//! What the stacks share: a registry that names one instance after another, an address that refuses, a server that ends when it is
//! dropped, and one type for all stacks of a protocol.

use std::{
    collections::VecDeque,
    future::{Ready, ready},
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tower::{Service, util::BoxCloneSyncService};
use tower_recovery::{Failure, HandleCache, Resolved};

/// What every stack is before its type is erased: it may be cloned into tasks, kept anywhere, and called from any thread.
pub(crate) trait Stack<Request, Response>:
    Service<Request, Response = Response, Error = Failure, Future: Send + 'static> + Clone + Send + Sync + 'static
{
}

impl<Request, Response, Layers> Stack<Request, Response> for Layers where
    Layers:
        Service<Request, Response = Response, Error = Failure, Future: Send + 'static> + Clone + Send + Sync + 'static
{
}

/// Any stack of these requests and responses, whatever it is made of.
pub(crate) type Erased<Request, Response> = BoxCloneSyncService<Request, Response, Failure>;

pub(crate) fn erase<Request, Response>(stack: impl Stack<Request, Response>) -> Erased<Request, Response> {
    Erased::new(stack)
}

/// Each look-up names the next instance, and the last one for ever.
#[derive(Clone)]
pub(crate) struct Registry<Handle> {
    answers: Arc<Mutex<VecDeque<Answer<Handle>>>>,
    lookups: Arc<AtomicU32>,
}

type Answer<Handle> = Result<Resolved<Handle>, RegistryDown>;

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the registry is down")]
pub(crate) struct RegistryDown;

impl<Handle: Clone + Send + 'static> Registry<Handle> {
    pub(crate) fn naming(instances: impl IntoIterator<Item = Resolved<Handle>>) -> Self {
        let answers = instances.into_iter().map(Ok).collect();
        Self { answers: Arc::new(Mutex::new(answers)), lookups: Arc::default() }
    }

    /// The same registry, but the first look-up fails.
    pub(crate) fn down_at_first(self) -> Self {
        self.answers.lock().expect("no test panics with it").push_front(Err(RegistryDown));
        self
    }

    /// A cache that may ask again after a millisecond, so that no test waits for the floor.
    pub(crate) fn cache(&self) -> HandleCache<Handle> {
        let floor = Duration::from_millis(1);
        HandleCache::builder(self.clone(), ()).resolve_floor(floor, floor).build()
    }

    pub(crate) fn lookups(&self) -> u32 {
        self.lookups.load(Ordering::SeqCst)
    }
}

impl<Handle: Clone> Service<()> for Registry<Handle> {
    type Response = Resolved<Handle>;
    type Error = RegistryDown;
    type Future = Ready<Answer<Handle>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RegistryDown>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().expect("no test panics with it");
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        ready(next.unwrap_or(Err(RegistryDown)))
    }
}

/// An address that refuses connections for as long as this lives: its port is bound, so that nobody else gets it, and nobody listens.
pub(crate) struct Refusing {
    socket: TcpSocket,
}

impl Refusing {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket can be made");
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("loopback has a free port");
        Self { socket }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("it is bound")
    }
}

/// Serves each connection in a task of its own, until it is dropped: then the listener and every connection are closed.
pub(crate) struct Server {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start<Serve, Served>(serve: Serve) -> Self
    where
        Serve: Fn(TcpStream) -> Served + Send + 'static,
        Served: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream));
            }
        });
        Self { address, accepting }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
