//! Where clients connect to.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};

use super::{Link, soon};

/// A server that does nothing by itself but to listen.
pub(crate) struct Server {
    listener: TcpListener,
    accepted: AtomicUsize,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, accepted: AtomicUsize::new(0) }
    }

    pub(crate) fn authority(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.authority())
    }

    /// How many connections were taken.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// The next connection, before anything was said over it.
    pub(crate) async fn accept_tcp(&self) -> TcpStream {
        let (stream, _) = soon(self.listener.accept()).await.unwrap();
        self.accepted.fetch_add(1, Ordering::Relaxed);
        stream
    }

    /// The next connection, as a websocket.
    pub(crate) async fn accept(&self) -> Link {
        Link::over(self.accept_tcp().await).await
    }
}
