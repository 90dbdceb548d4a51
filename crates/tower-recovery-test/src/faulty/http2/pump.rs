//! What carries the bytes between the socket and the pipe.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    select,
};

use super::{
    super::{
        shared::Shared,
        transport::Transport,
        wire::{Broken, Wire},
    },
    frames::frames,
    pipe::Pipe,
};
use crate::Gate;

const READ_AT_ONCE: usize = 16 * 1024;

pub(super) struct Pump {
    pipe: Pipe,
    gate: Gate,
    shared: Arc<Shared>,
    /// What goes out next.
    outgoing: BytesMut,
}

impl Pump {
    pub(super) fn new(pipe: &Pipe, gate: &Gate, shared: &Arc<Shared>) -> Self {
        Self { pipe: pipe.clone(), gate: gate.clone(), shared: Arc::clone(shared), outgoing: BytesMut::new() }
    }

    /// Carries bytes until some have come in, or the client has ended its side, or there is a reason to look again.
    ///
    /// # Cancel safety
    ///
    /// No byte is lost.
    pub(super) async fn turn(&mut self, wire: &mut Wire) {
        if let Some(frozen) = self.pipe.frozen() {
            frozen.over(&self.shared.freeze).await;
            self.pipe.unfreeze(frozen);
        }
        let gate = self.gate.clone();
        let transport = wire.transport();
        select! {
            biased;
            () = poll_fn(|context| self.poll_carry(transport, context)) => {}
            () = gate.opened(), if !gate.is_open() => {}
        }
    }

    /// Writes out everything that is left.
    pub(super) async fn flush(&mut self, wire: &mut Wire) -> Result<(), Broken> {
        if let Some(frozen) = self.pipe.frozen() {
            frozen.over(&self.shared.freeze).await;
        }
        self.gate.opened().await;
        self.take_frames();
        wire.write(&self.outgoing.split()).await
    }

    /// As [`flush`](Self::flush), but only up to the middle of a stream's head.
    pub(super) async fn flush_half_a_head(&mut self, wire: &mut Wire, stream: u32) -> Result<(), Broken> {
        let taken = self.outgoing.len();
        self.take_frames();
        let mut end = taken;
        let mut half = 0;
        for frame in frames(&self.outgoing[taken..]) {
            if frame.is_head_of(stream) {
                half = frame.middle();
                break;
            }
            end += frame.length();
        }
        self.outgoing.truncate(end + half);
        self.flush(wire).await
    }

    fn poll_carry(&mut self, transport: &mut Transport, context: &mut Context<'_>) -> Poll<()> {
        if self.pipe.frozen().is_some() {
            return Poll::Ready(());
        }
        self.take_frames();
        if self.gate.is_open() {
            // A failure is the end of the connection, which the reading sees, too.
            let _ = self.poll_write(transport, context);
        }
        self.pipe.set_unwritten(self.outgoing.len());
        let mut bytes = [0; READ_AT_ONCE];
        let mut buffer = ReadBuf::new(&mut bytes);
        match ready!(Pin::new(transport).poll_read(context, &mut buffer)) {
            Ok(()) if !buffer.filled().is_empty() => self.pipe.put_incoming(buffer.filled()),
            _ => self.pipe.end_incoming(),
        }
        Poll::Ready(())
    }

    fn poll_write(&mut self, transport: &mut Transport, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        while !self.outgoing.is_empty() {
            let written = ready!(Pin::new(&mut *transport).poll_write(context, &self.outgoing))?;
            self.outgoing.advance(written);
        }
        Pin::new(transport).poll_flush(context)
    }

    /// Takes what was written, which is whole frames, and counts.
    fn take_frames(&mut self) {
        let bytes = self.pipe.take_outgoing();
        for frame in frames(&bytes) {
            if frame.refuses_a_stream() {
                self.shared.counts.refused.increment();
            }
        }
        self.outgoing.unsplit(bytes);
    }
}
