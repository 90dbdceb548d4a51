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

/// Writes until that fails. A request whose caller has gone is left out.
pub(super) async fn write<Out>(
    shared: &Shared,
    manager: &Arc<str>,
    mut sink: Out,
    outbox: &mut mpsc::Receiver<Outgoing>,
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
                    Err(wait) => sleep(wait).await,
                }
            }
            outbox.recv().await
        };
        let message = tokio::select! {
            biased;
            Some(text) = texts.recv() => Some(text),
            Some(outgoing) = next => {
                let message = frame(shared, manager, outgoing);
                has_place = message.is_none();
                message
            }
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
