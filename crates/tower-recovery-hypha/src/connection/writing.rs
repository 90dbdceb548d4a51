//! What goes out.

use std::sync::Arc;

use futures_util::{FutureExt, Sink, SinkExt};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};
use tokio_tungstenite::tungstenite::{self, Message};

use super::pacing::Pacer;
use crate::{
    ConnectionStatus,
    calls::Target,
    client::{Outbox, Shared},
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
    outbox: &mut Outbox,
    texts: &mut mpsc::Receiver<Message>,
) -> tungstenite::Error
where
    Out: Sink<Message, Error = tungstenite::Error> + Unpin,
{
    let status = shared.status.subscribe();
    let pacer = Pacer::new(shared.settings.pace, Instant::now());
    let mut source = Source { texts, outbox, status, pacer, urgent_in_a_row: 0 };
    loop {
        let next = match source.next().now_or_never() {
            Some(next) => next,
            // Nothing may go out at once: what was written before must not wait for it.
            None => match sink.flush().await {
                Ok(()) => source.next().await,
                Err(error) => return error,
            },
        };
        let message = match next {
            Next::Text(text) => Some(text),
            Next::Outgoing(outgoing) => frame(shared, manager, outgoing).inspect(|_| source.pacer.take()),
        };
        if let Some(message) = message
            && let Err(error) = sink.feed(message).await
        {
            return error;
        }
    }
}

/// What goes out next.
struct Source<'a> {
    texts: &'a mut mpsc::Receiver<Message>,
    outbox: &'a mut Outbox,
    status: watch::Receiver<ConnectionStatus>,
    pacer: Pacer,
    urgent_in_a_row: u32,
}

enum Next {
    /// The server does not count these.
    Text(Message),
    Outgoing(Outgoing),
}

impl Source<'_> {
    /// How many urgent messages go before one of the rest that waits, so that nobody who asks for many answers holds up our own calls.
    const MOST_URGENT: u32 = 3;

    /// Nothing is lost where this is dropped.
    async fn next(&mut self) -> Next {
        let Self { texts, outbox: Outbox { urgent, rest }, status, pacer, urgent_in_a_row } = self;
        let outgoing = async {
            while let Err(wait) = pacer.place(Instant::now()) {
                sleep(wait).await;
            }
            let of_the_rest = async {
                // What has to be said first goes by the other lane. The sender is in what is shared.
                let _ = status.wait_for(ConnectionStatus::is_connected).await;
                rest.recv().await
            };
            // The senders live as long as the client.
            if *urgent_in_a_row < Self::MOST_URGENT {
                tokio::select! {
                    biased;
                    Some(outgoing) = urgent.recv() => (outgoing, true),
                    Some(outgoing) = of_the_rest => (outgoing, false),
                    else => std::future::pending().await,
                }
            } else {
                tokio::select! {
                    biased;
                    Some(outgoing) = of_the_rest => (outgoing, false),
                    Some(outgoing) = urgent.recv() => (outgoing, true),
                    else => std::future::pending().await,
                }
            }
        };
        tokio::select! {
            biased;
            Some(text) = texts.recv() => Next::Text(text),
            (outgoing, is_urgent) = outgoing => {
                *urgent_in_a_row = if is_urgent { urgent_in_a_row.saturating_add(1) } else { 0 };
                Next::Outgoing(outgoing)
            }
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
    let qualified;
    // The server would do it, and name the whole id in the answer.
    let to = if to.contains('/') {
        to
    } else {
        qualified = format!("{}/{to}", shared.workspace().unwrap_or_default()).into();
        &qualified
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
