//! The socket of one connection, and what was read ahead of it.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt},
    select,
};

use super::{
    body::Body,
    head::{Framing, HEAD_LIMIT, Head},
    transport::{Transport, reset_on_drop},
};

/// The connection cannot be read on: it was cut off, it does not speak the protocol, or it went over a limit. The cause makes no difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broken;

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl From<httparse::Error> for Broken {
    fn from(_: httparse::Error) -> Self {
        Self
    }
}

/// A socket with a read buffer.
#[derive(Debug)]
pub(super) struct Wire {
    transport: Transport,
    /// What was read and not taken yet; pipelined requests wait in it for their turn.
    buffer: BytesMut,
    /// Whether the client has ended its side, or the connection is gone.
    client_ended: bool,
}

impl Wire {
    pub(super) fn new(transport: Transport) -> Self {
        Self { transport, buffer: BytesMut::new(), client_ended: false }
    }

    /// The next head; `None` if the connection ended in good order before one began.
    pub(super) async fn read_head(&mut self) -> Result<Option<Head>, Broken> {
        loop {
            if let Some(head) = Head::take(&mut self.buffer)? {
                return Ok(Some(head));
            }
            if !self.fill().await {
                return if self.buffer.is_empty() { Ok(None) } else { Err(Broken) };
            }
        }
    }

    pub(super) async fn read_body(&mut self, framing: Framing, limit: usize) -> Result<Bytes, Broken> {
        let mut body = Body::new(framing, limit)?;
        loop {
            if let Some(whole) = body.take(&mut self.buffer)? {
                return Ok(whole);
            }
            if !self.fill().await {
                return Err(Broken);
            }
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.transport.write_all(bytes).await?;
        // TLS may keep back what the socket does not take at once.
        Ok(self.transport.flush().await?)
    }

    /// Waits for the event, and calls `client_ended` if the client ends its side before it.
    ///
    /// To see that, it reads ahead; who sends more than a head may hold in the meantime is not watched any further.
    pub(super) async fn watch_until(&mut self, event: impl Future<Output = ()>, mut client_ended: impl FnMut()) {
        let mut event = pin!(event);
        loop {
            let watching = !self.client_ended && self.buffer.len() < HEAD_LIMIT;
            select! {
                biased;
                () = &mut event => return,
                open = self.fill(), if watching => if !open { client_ended() },
            }
        }
    }

    /// Waits for the event; fails if the client ends its side before it. It watches as [`watch_until`](Self::watch_until) does.
    pub(super) async fn wait_watched(&mut self, event: impl Future<Output = ()>) -> Result<(), Broken> {
        let mut event = pin!(event);
        poll_fn(|context| match self.poll_watch(context) {
            Poll::Ready(broken) => Poll::Ready(Err(broken)),
            Poll::Pending => event.as_mut().poll(context).map(Ok),
        })
        .await
    }

    /// Writes; fails also if the client ends its side before everything is written. It watches as [`watch_until`](Self::watch_until)
    /// does.
    pub(super) async fn write_watched(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut left = bytes;
        poll_fn(|context| {
            if let Poll::Ready(broken) = self.poll_watch(context) {
                return Poll::Ready(Err(broken));
            }
            while !left.is_empty() {
                let written = ready!(Pin::new(&mut self.transport).poll_write(context, left))?;
                left = &left[written..];
            }
            Pin::new(&mut self.transport).poll_flush(context).map(|flushed| Ok(flushed?))
        })
        .await
    }

    /// Whether the client's end has been seen.
    pub(super) fn client_has_ended(&self) -> bool {
        self.client_ended
    }

    /// Sends a FIN, over TLS after an announcement.
    pub(super) async fn finish(&mut self) {
        // Fails if the client has reset the connection: then it has ended, too.
        let _ = self.transport.shutdown().await;
    }

    /// Throws away what the client still sends, until it ends its side. To close a socket with unread bytes would send a reset.
    pub(super) async fn drain(&mut self) {
        self.buffer.clear();
        while self.fill().await {
            self.buffer.clear();
        }
    }

    /// Lets the socket end with an RST when it is dropped.
    pub(super) fn reset_on_drop(&self) {
        reset_on_drop(self.transport.socket());
    }

    /// What the bytes go over, for a protocol that reads and writes them itself.
    #[cfg(feature = "http2")]
    pub(super) fn transport(&mut self) -> &mut Transport {
        &mut self.transport
    }

    /// Reads ahead, and is ready when the client has ended its side.
    fn poll_watch(&mut self, context: &mut Context<'_>) -> Poll<Broken> {
        while !self.client_ended && self.buffer.len() < HEAD_LIMIT {
            if !ready!(pin!(self.fill()).poll(context)) {
                break;
            }
        }
        if self.client_ended { Poll::Ready(Broken) } else { Poll::Pending }
    }

    /// Reads what there is; `false` at the end of the client's side.
    async fn fill(&mut self) -> bool {
        if !self.client_ended {
            self.buffer.reserve(4 * 1024);
            let read = self.transport.read_buf(&mut self.buffer).await;
            self.client_ended = !matches!(read, Ok(1..));
        }
        !self.client_ended
    }
}
