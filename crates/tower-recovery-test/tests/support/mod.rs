//! A client that sees everything: raw bytes, and how the connection ended.
// No test binary uses all of it, and clippy does not take it for test code.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod pair;

use std::{
    io,
    mem::MaybeUninit,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

#[cfg(feature = "http2")]
pub(crate) mod http2;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use bytes::Bytes;
use http::{Request, Response};
use socket2::SockRef;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    select,
    sync::oneshot,
};
use tower_recovery_test::faulty::{FaultyServer, FaultyServerBuilder, Script, Streams};

/// A server that gives each request its body back.
pub(crate) async fn echo(script: impl Script) -> FaultyServer {
    echoing(script).start().await.unwrap()
}

pub(crate) fn echoing(script: impl Script) -> FaultyServerBuilder {
    let echo = |request: &Request<Bytes>| Response::new(request.body().clone());
    FaultyServer::builder().application(echo).script(script)
}

/// A server that streams its answers.
pub(crate) async fn streaming(streams: impl Streams) -> FaultyServer {
    FaultyServer::builder().streams(streams).start().await.unwrap()
}

/// Ends a test that hangs, by the time of a thread: on a paused clock, a timer of tokio's would be passed by as soon as nothing moves.
pub(crate) async fn within<Output>(future: impl Future<Output = Output>) -> Output {
    let (_finished, running) = mpsc::channel::<()>();
    let (hangs, hung) = oneshot::channel();
    thread::spawn(move || {
        if running.recv_timeout(Duration::from_secs(20)) == Err(RecvTimeoutError::Timeout) {
            let _ = hangs.send(());
        }
    });
    select! {
        biased;
        output = future => output,
        Ok(()) = hung => panic!("the test hangs"),
    }
}

/// How the server ended the connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Fin,
    Reset,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(server: &FaultyServer) -> Self {
        Self::over(TcpStream::connect(server.address()).await.unwrap())
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// Connects and sends one request.
    pub(crate) async fn sending(server: &FaultyServer, method: &str, id: &str, body: &str) -> Self {
        let mut client = Self::connect(server).await;
        client.send(method, id, body).await;
        client
    }

    pub(crate) async fn send(&mut self, method: &str, id: &str, body: &str) {
        let length = body.len();
        self.send_raw(&format!(
            "{method} /orders HTTP/1.1\r\nhost: orders\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    pub(crate) async fn send_raw(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Ends the client's side only.
    pub(crate) async fn shut_down(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// The next head, up to its empty line.
    pub(crate) async fn head(&mut self) -> String {
        self.text_up_to("\r\n\r\n").await
    }

    /// The next answer, whose body ends where its content length says.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.unwrap().parse().unwrap();
        while self.read.len() < length {
            self.read_some().await;
        }
        let body = self.read.drain(..length).collect();
        Answer { head, body }
    }

    /// The next bytes are these.
    pub(crate) async fn expect(&mut self, text: &str) {
        while self.read.len() < text.len() {
            self.read_some().await;
        }
        let next: Vec<u8> = self.read.drain(..text.len()).collect();
        assert_eq!(String::from_utf8_lossy(&next), text);
    }

    /// Everything up to the first such end, and with it.
    pub(crate) async fn text_up_to(&mut self, end: &str) -> String {
        loop {
            if let Some(start) = find(&self.read, end.as_bytes()) {
                let text = self.read.drain(..start + end.len()).collect();
                return String::from_utf8(text).unwrap();
            }
            self.read_some().await;
        }
    }

    /// Takes whatever has come or comes next, and tells how much that is; 0 is the end.
    pub(crate) async fn take(&mut self) -> usize {
        if self.read.is_empty() {
            self.read.reserve(256 << 10);
            self.stream.read_buf(&mut self.read).await.unwrap();
        }
        let taken = self.read.len();
        self.read.clear();
        taken
    }

    /// Ends the connection with an RST.
    pub(crate) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Everything up to the end of the connection, and how it ended.
    pub(crate) async fn rest(mut self) -> (String, End) {
        let end = loop {
            match self.stream.read_buf(&mut self.read).await {
                Ok(0) => break End::Fin,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break End::Reset,
                Err(error) => panic!("{error}"),
            }
        };
        (String::from_utf8(self.read).unwrap(), end)
    }

    /// The server has ended its side, and has reset what was sent after that.
    pub(crate) async fn assert_reset_after_the_end(mut self) {
        assert!(self.read.is_empty());
        assert_reset_after_the_end(&mut self.stream).await;
    }

    /// Writes until it fails, which it does once the server's end of the connection is gone.
    pub(crate) async fn assert_reset_soon(mut self) {
        let mut failed = Ok(());
        while failed.is_ok() {
            failed = self.stream.write_all(b"more").await;
            tokio::task::yield_now().await;
        }
    }

    /// Asks the system, not the runtime's memory of it: there is neither a byte nor an end.
    #[track_caller]
    pub(crate) fn assert_silent(&self) {
        assert!(self.read.is_empty());
        assert_socket_silent(&self.stream);
    }

    async fn read_some(&mut self) {
        let read = self.stream.read_buf(&mut self.read).await.unwrap();
        assert_ne!(read, 0, "ended after {:?}", self.read);
    }
}

#[track_caller]
pub(crate) fn assert_socket_silent(stream: &TcpStream) {
    let peeked = SockRef::from(stream).peek(&mut [MaybeUninit::uninit()]);
    assert_eq!(peeked.unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

/// The server has ended its side, and has reset what was sent after that: the system tells so to who writes again.
pub(crate) async fn assert_reset_after_the_end(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    let error = stream.write_all(b"again").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
