//! One direction of one connection.

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::tcp::{ReadHalf, WriteHalf},
    select,
    sync::watch,
    time::sleep,
};

use super::{
    Direction, Disturbance, Side,
    plan::{Step, When},
    shared::Shared,
};

const BUFFER: usize = 16 * 1024;

/// Forwards the bytes of one direction, and disturbs them.
pub(super) struct Flow<'connection> {
    pub(super) direction: Direction,
    pub(super) from: ReadHalf<'connection>,
    pub(super) to: WriteHalf<'connection>,
    /// What is still to come.
    pub(super) steps: VecDeque<Step>,
    pub(super) forwarded: u64,
    /// Whether both directions stand still.
    pub(super) held: &'connection watch::Sender<bool>,
    pub(super) shared: &'connection Shared,
}

/// How a direction ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlowEnd {
    /// The sender ended its side, and the receiver was told.
    Finished,
    /// One of the two has gone without ending its side.
    Broken,
    Cut(Cut),
}

/// A cut of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) reset: bool,
    /// `None`: both sides.
    pub(super) only: Option<Side>,
}

impl Flow<'_> {
    pub(super) async fn run(mut self) -> FlowEnd {
        let mut buffer = vec![0; BUFFER];
        loop {
            match self.take_step().await {
                Ok(None) => {}
                Ok(Some(cut)) => return FlowEnd::Cut(cut),
                Err(_) => return FlowEnd::Broken,
            }
            match self.forward_some(&mut buffer).await {
                Ok(0) => return FlowEnd::Finished,
                Ok(_) => {}
                Err(_) => return FlowEnd::Broken,
            }
        }
    }

    /// Takes all steps that are due; a cut is the last one.
    async fn take_step(&mut self) -> io::Result<Option<Cut>> {
        while let Some(step) = self.steps.front().copied()
            && step.bytes == self.forwarded
        {
            match step.when {
                When::AtOnce => released(self.held).await,
                When::NextByte if self.next_byte_arrives().await? => {}
                // The direction ends here.
                When::NextByte => break,
            }
            self.steps.pop_front();
            if let Some(cut) = self.disturb(step.disturbance).await {
                return Ok(Some(cut));
            }
        }
        Ok(None)
    }

    /// Disturbs this direction, or says which cut is to be made.
    async fn disturb(&self, disturbance: Disturbance) -> Option<Cut> {
        match disturbance {
            Disturbance::Close => return Some(Cut { reset: false, only: None }),
            Disturbance::Reset => return Some(Cut { reset: true, only: None }),
            Disturbance::CloseTo(side) => return Some(Cut { reset: false, only: Some(side) }),
            Disturbance::ResetTo(side) => return Some(Cut { reset: true, only: Some(side) }),
            Disturbance::Freeze => self.until_thaw().await,
            Disturbance::FreezeBoth => {
                self.held.send_replace(true);
                self.until_thaw().await;
                self.held.send_replace(false);
            }
            Disturbance::Delay(delay) => sleep(delay).await,
        }
        None
    }

    async fn until_thaw(&self) {
        let counts = &self.shared.counts;
        let thaws = counts.thaws.value();
        // Counted last: a thaw by who waited for the freeze comes after it.
        let _frozen = counts.frozen.enter();
        counts.thaws.at_least(thaws + 1).await;
    }

    /// Whether a byte has come, rather than the end.
    async fn next_byte_arrives(&mut self) -> io::Result<bool> {
        let from = &mut self.from;
        let peeked = unless_held(self.held, |context| {
            let mut byte = [0];
            from.poll_peek(context, &mut ReadBuf::new(&mut byte))
        });
        Ok(peeked.await? > 0)
    }

    /// Forwards what there is, up to the next step; 0 bytes are the end of the direction.
    async fn forward_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A step at this very byte waits for the next one, and what has come in its place is the end: room for a byte shows that.
        let before_step = self.steps.front().map_or(u64::MAX, |step| (step.bytes - self.forwarded).max(1));
        let limit = usize::try_from(before_step).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.read(&mut buffer[..limit]).await?;
        if read == 0 {
            self.to.shutdown().await?;
        }
        let mut left = &buffer[..read];
        while !left.is_empty() {
            let to = &mut self.to;
            let written = unless_held(self.held, |context| Pin::new(&mut *to).poll_write(context, left)).await?;
            left = &left[written..];
            self.forwarded += written as u64;
            self.shared.counts.bytes(self.direction).add(written);
        }
        Ok(read)
    }

    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from = &mut self.from;
        let read = unless_held(self.held, |context| {
            let mut buffer = ReadBuf::new(buffer);
            let read = ready!(Pin::new(&mut *from).poll_read(context, &mut buffer));
            Poll::Ready(read.map(|()| buffer.filled().len()))
        });
        read.await
    }
}

/// Does this while the connection is not held.
async fn unless_held<Output>(
    held: &watch::Sender<bool>,
    mut operation: impl FnMut(&mut Context<'_>) -> Poll<Output>,
) -> Output {
    loop {
        released(held).await;
        select! {
            // A hold comes first, so that not one byte more is moved than before it.
            biased;
            () = until_held(held) => {}
            output = poll_fn(&mut operation) => return output,
        }
    }
}

async fn until_held(held: &watch::Sender<bool>) {
    held.subscribe().wait_for(|held| *held).await.expect("the sender is borrowed, so the channel is open");
}

async fn released(held: &watch::Sender<bool>) {
    held.subscribe().wait_for(|held| !*held).await.expect("the sender is borrowed, so the channel is open");
}
