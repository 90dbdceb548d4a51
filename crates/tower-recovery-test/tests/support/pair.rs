//! Both ends of a connection through a proxy.

use std::{io, mem::MaybeUninit, net::SocketAddr};

use socket2::SockRef;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower_recovery_test::cutting::{CuttingProxy, CuttingScript};

use super::End;

/// A listener, and a proxy before it.
pub(crate) struct Way {
    pub(crate) listener: TcpListener,
    pub(crate) proxy: CuttingProxy,
}

impl Way {
    pub(crate) async fn with(script: impl CuttingScript) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let proxy = CuttingProxy::before(listener.local_addr().unwrap()).script(script).start().await.unwrap();
        Self { listener, proxy }
    }

    /// The client's end and the server's end of a new connection.
    pub(crate) async fn connect(&self) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(self.proxy.address()).await.unwrap();
        let (server, _) = self.listener.accept().await.unwrap();
        (client, server)
    }
}

/// Bytes of which none is like its neighbours.
pub(crate) fn bytes(number: usize) -> Vec<u8> {
    (0..number).map(|index| (index % 251) as u8).collect()
}

pub(crate) async fn read(stream: &mut TcpStream, number: usize) -> Vec<u8> {
    let mut read = vec![0; number];
    stream.read_exact(&mut read).await.unwrap();
    read
}

/// Everything up to the end, and which end it was.
pub(crate) async fn rest(stream: &mut TcpStream) -> (Vec<u8>, End) {
    let mut seen = Vec::new();
    match stream.read_to_end(&mut seen).await {
        Ok(_) => (seen, End::Fin),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => (seen, End::Reset),
        Err(error) => panic!("{error}"),
    }
}

/// Sends to somebody who may be gone already.
pub(crate) async fn send(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes).await;
}

/// Asks the system, not the runtime's memory of it: there is neither a byte nor an end.
#[track_caller]
pub(crate) fn assert_silent(stream: &TcpStream) {
    let peeked = SockRef::from(stream).peek(&mut [MaybeUninit::uninit()]);
    assert_eq!(peeked.unwrap_err().kind(), io::ErrorKind::WouldBlock);
}
