//! What the `h2` crate takes for its socket.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
};

use super::{
    super::{ErrorCode, until::Wait},
    frames,
};
use crate::lock::lock;

/// The end in memory of a connection, with room for whatever is written. Clones are the same one.
///
/// Nobody is woken by what comes in: the task that puts it in polls the crate after that.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Tells that there is less on its way to the socket.
    drained: Notify,
}

/// How much may be on its way to the socket before streams wait for it.
const BACKLOG: usize = 256 * 1024;

#[derive(Debug, Default)]
struct State {
    incoming: BytesMut,
    /// Whether nothing more comes in.
    ended: bool,
    /// Between two polls of the crate, it ends with a whole frame: there is always room for all of it.
    outgoing: BytesMut,
    /// What was taken, and is not written to the socket yet.
    unwritten: usize,
    frozen: Option<Wait>,
    /// The highest stream that was accepted.
    highest_stream: u32,
    /// Streams above this id are ignored.
    last_stream: Option<u32>,
}

impl Pipe {
    pub(super) fn put_incoming(&self, bytes: &[u8]) {
        lock(&self.0.state).incoming.extend_from_slice(bytes);
    }

    pub(super) fn end_incoming(&self) {
        lock(&self.0.state).ended = true;
    }

    pub(super) fn take_outgoing(&self) -> BytesMut {
        lock(&self.0.state).outgoing.split()
    }

    /// Says how much of what was taken is not written to the socket yet.
    pub(super) fn set_unwritten(&self, bytes: usize) {
        lock(&self.0.state).unwritten = bytes;
        self.0.drained.notify_waiters();
    }

    /// Waits until little is on its way to the socket: the room in here is endless, the client's window may be.
    pub(super) async fn drained(&self) {
        loop {
            let drained = self.0.drained.notified();
            if self.backlog() < BACKLOG {
                return;
            }
            drained.await;
        }
    }

    fn backlog(&self) -> usize {
        let state = lock(&self.0.state);
        state.outgoing.len() + state.unwritten
    }

    /// Freezes the connection until the wait is over.
    pub(super) fn freeze(&self, wait: Wait) {
        lock(&self.0.state).frozen = Some(wait);
    }

    pub(super) fn frozen(&self) -> Option<Wait> {
        lock(&self.0.state).frozen
    }

    /// Ends a freeze whose wait is over, unless another one has begun in the meantime.
    pub(super) fn unfreeze(&self, over: Wait) {
        lock(&self.0.state).frozen.take_if(|wait| *wait == over);
    }

    /// Slips a `GOAWAY` in.
    pub(super) fn go_away(&self, last_stream: u32, code: ErrorCode) {
        let mut state = lock(&self.0.state);
        state.outgoing.extend_from_slice(&frames::go_away(last_stream, code));
        state.last_stream = Some(state.last_stream.map_or(last_stream, |last| last.min(last_stream)));
    }

    /// Slips a `GOAWAY` in that is content with all that was accepted.
    pub(super) fn go_away_after_all(&self) {
        let highest = lock(&self.0.state).highest_stream;
        self.go_away(highest, ErrorCode::NO_ERROR);
    }

    pub(super) fn accepted(&self, stream: u32) {
        lock(&self.0.state).highest_stream = stream;
    }

    /// Whether a `GOAWAY` has said that this stream will not be processed.
    pub(super) fn ignores(&self, stream: u32) -> bool {
        lock(&self.0.state).last_stream.is_some_and(|last| stream > last)
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0.state);
        if state.incoming.is_empty() && !state.ended {
            return Poll::Pending;
        }
        let length = state.incoming.len().min(buffer.remaining());
        buffer.put_slice(&state.incoming[..length]);
        state.incoming.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.0.state).outgoing.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
