//! How a script is played, whatever the protocol.

use std::future::pending;

use bytes::Bytes;
use tokio::{select, time::sleep};

use super::{
    Sending, StreamEnding, StreamScript,
    script::{Pause, StreamStep},
};

/// The client has left.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Left;

/// What waits and watches the client meanwhile.
pub(in super::super) trait Watch {
    /// Waits for the event, or until the client has left.
    fn wait(&mut self, event: impl Future<Output = ()> + Send) -> impl Future<Output = Result<(), Left>> + Send;
}

/// Where a body goes.
pub(in super::super) trait Sink: Watch {
    /// Puts the framing round some bytes; a piece may be sent more than once.
    fn piece(&self, bytes: Bytes) -> Bytes;

    /// Sends a piece, no faster than the client takes it.
    fn send(&mut self, piece: Bytes) -> impl Future<Output = Result<(), Left>> + Send;
}

impl StreamScript {
    /// Waits until the head may be sent.
    pub(in super::super) async fn lead(&self, watch: &mut impl Watch) -> Result<(), Left> {
        for pause in &self.lead {
            watch.wait(pause.over()).await?;
        }
        Ok(())
    }

    /// Sends the body, up to the place where it is to be ended.
    pub(in super::super) async fn play(
        &self,
        mut answer: Bytes,
        sink: &mut impl Sink,
        sending: &Sending,
    ) -> Result<(), Left> {
        for step in &self.steps {
            match step {
                StreamStep::Send { bytes, times } => send_times(bytes, *times, sink, sending).await?,
                StreamStep::SendEvery { bytes, interval, until } => loop {
                    let pause = async {
                        select! {
                            biased;
                            () = until.opened() => {}
                            () = sleep(*interval) => {}
                        }
                    };
                    sink.wait(pause).await?;
                    if until.is_open() {
                        break;
                    }
                    send_times(bytes, 1, sink, sending).await?;
                },
                StreamStep::SendAnswer { at_most } => {
                    let part = answer.split_to(answer.len().min(*at_most));
                    send_times(&part, 1, sink, sending).await?;
                }
                StreamStep::Pause(pause) => sink.wait(pause.over()).await?,
            }
        }
        if self.ending == StreamEnding::Silence {
            sink.wait(pending()).await?;
        }
        Ok(())
    }
}

async fn send_times(bytes: &Bytes, times: u64, sink: &mut impl Sink, sending: &Sending) -> Result<(), Left> {
    // An empty chunk would be the last one.
    if bytes.is_empty() {
        return Ok(());
    }
    let piece = sink.piece(bytes.clone());
    for _ in 0..times {
        sink.send(piece.clone()).await?;
        sending.sent(bytes.len());
    }
    Ok(())
}

impl Pause {
    async fn over(&self) {
        match self {
            Self::Time(time) => sleep(*time).await,
            Self::Gate(gate) => gate.opened().await,
        }
    }
}
