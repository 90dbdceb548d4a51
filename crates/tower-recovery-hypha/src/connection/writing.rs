//! What goes out.

use std::sync::Arc;

use futures_util::{Sink, SinkExt};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_tungstenite::tungstenite::{self, Message};

use super::pacing::Pacer;
use crate::{
    calls::Target,
    client::Shared,
    wire::{self, Head},
};

/// One message to a client, or to the workspace manager.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Of a call that waits for its answer; `None` for a reply, which nobody answers.
    pub(crate) session: Option<Box<str>>,
    pub(crate) to: Target,
    pub(crate) method: Arc<str>,
    /// Arguments and what belongs to them, encoded.
    pub(crate) body: Vec<u8>,
}

/// What waits for its place on the connection.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Goes before the rest: who keeps the server or a caller waiting for a sign of life is taken for dead, however much else there is to send.
    pub(crate) first: mpsc::Receiver<Outgoing>,
    pub(crate) in_order: mpsc::Receiver<Outgoing>,
}

impl Outbox {
    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.in_order.is_empty()
    }

    async fn next(&mut self) -> Outgoing {
        tokio::select! {
            biased;
            Some(outgoing) = self.first.recv() => outgoing,
            Some(outgoing) = self.in_order.recv() => outgoing,
            // The senders are in what the client itself holds.
            else => std::future::pending().await,
        }
    }
}

/// Writes until that fails. A request whose caller has gone is left out.
pub(super) async fn write<Out>(
    shared: &Shared,
    manager: &Arc<str>,
    mut sink: Out,
    outbox: &mut Outbox,
    texts: &mut mpsc::Receiver<Message>,
) -> tungstenite::Error
where
    Out: Sink<Message, Error = tungstenite::Error> + Unpin,
{
    let mut pacer = Pacer::new(shared.settings.pace, Instant::now());
    // Whether the next message has its place; the server does not count texts.
    let mut has_place = false;
    loop {
        let next = async {
            while !has_place {
                match pacer.take(Instant::now()) {
                    Ok(()) => has_place = true,
                    Err(wait) => {
                        // What has its place does not wait with it.
                        sink.flush().await?;
                        sleep(wait).await;
                    }
                }
            }
            Ok(outbox.next().await)
        };
        let message = tokio::select! {
            biased;
            Some(text) = texts.recv() => Some(text),
            next = next => match next {
                Ok(outgoing) => {
                    let message = frame(shared, manager, outgoing);
                    has_place = message.is_none();
                    message
                }
                Err(error) => return error,
            },
        };
        if let Some(message) = message
            && let Err(error) = sink.feed(message).await
        {
            return error;
        }
        // What waits behind it goes out with it.
        if outbox.is_empty()
            && texts.is_empty()
            && let Err(error) = sink.flush().await
        {
            return error;
        }
    }
}

/// The frame, or `None` if nobody waits for the call any more. From here on the request counts as sent.
fn frame(shared: &Shared, manager: &Arc<str>, outgoing: Outgoing) -> Option<Message> {
    let Outgoing { session, to, method, body } = outgoing;
    let to = match &to {
        Target::Manager => manager,
        Target::Peer(peer) => peer,
    };
    if let Some(session) = &session
        && !shared.calls.hand_over(session, to)
    {
        return None;
    }
    let mut frame = wire::encode_head(&Head {
        from: &shared.own_id(),
        to,
        method: &method,
        session: session.as_deref(),
        parent: None,
    });
    frame.extend_from_slice(&body);
    Some(Message::binary(frame))
}
