//! What is spoken over every socket of this scene: JSON, a message a line.

use std::{io, net::SocketAddr};

use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::Mutex,
};

use super::registry::{Question, Reply};

pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(BufReader::new(stream))
    }

    pub(crate) async fn connect(to: SocketAddr) -> io::Result<Self> {
        TcpStream::connect(to).await.map(Self::new)
    }

    pub(crate) async fn write(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.0.write_all(&line).await
    }

    pub(crate) async fn read<Message: DeserializeOwned>(&mut self) -> io::Result<Message> {
        let mut line = String::new();
        match self.0.read_line(&mut line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    pub(crate) async fn ask<Answer: DeserializeOwned>(&mut self, question: &impl Serialize) -> io::Result<Answer> {
        self.write(question).await?;
        self.read().await
    }

    /// Ends it in order, and returns when the other side has done so, too.
    async fn close(mut self) -> io::Result<()> {
        self.0.shutdown().await?;
        self.0.read_to_end(&mut Vec::new()).await.map(drop)
    }
}

/// A connection to the registry: the one over which a process is registered, or a lane for look-ups alone.
pub(crate) struct Connection {
    /// As the registry counts.
    pub(crate) number: u64,
    wire: Mutex<Option<Wire>>,
}

impl Connection {
    pub(crate) async fn open(registry: SocketAddr) -> io::Result<Self> {
        let mut wire = Wire::connect(registry).await?;
        let number = wire.read().await?;
        Ok(Self { number, wire: Mutex::new(Some(wire)) })
    }

    /// One question at a time. A failed or dropped one ends the connection, so that nobody reads the answer to another's.
    ///
    /// # Errors
    ///
    /// `NotConnected` if it was closed, or has ended, before.
    pub(crate) async fn ask(&self, question: &Question) -> io::Result<Reply> {
        let mut slot = self.wire.lock().await;
        let mut wire = slot.take().ok_or(io::ErrorKind::NotConnected)?;
        let reply = wire.ask(question).await?;
        *slot = Some(wire);
        Ok(reply)
    }

    /// Closes it, and waits until the registry has let go of it. If this is dropped, the socket is closed all the same.
    pub(crate) async fn close(&self) {
        let wire = self.wire.lock().await.take();
        if let Some(wire) = wire {
            let _ended_anyway = wire.close().await;
        }
    }
}
