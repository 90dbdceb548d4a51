//! What comes in.

use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use rmpv::Value;
use serde::Deserialize;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::{
    calls::Rejected,
    client::Shared,
    serving,
    text::cut,
    wire::{self, Incoming, IncomingCall, IncomingEvent},
};

/// What the server says in text.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Text {
    ReconnectionToken {
        reconnection_token: Box<str>,
    },
    /// Before it closes the connection.
    Error {
        message: Box<str>,
    },
    #[serde(other)]
    Other,
}

/// Reads until that ends, and says how it ended.
pub(super) async fn read<In>(shared: &Arc<Shared>, mut stream: In) -> Arc<str>
where
    In: Stream<Item = Result<Message, tungstenite::Error>> + Unpin,
{
    let mut last_words: Option<Box<str>> = None;
    let ended = loop {
        let message = match stream.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => break error.to_string(),
            None => break "the server closed it".to_owned(),
        };
        shared.heard.now();
        match message {
            Message::Binary(frame) => take_frame(shared, &frame),
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(Text::ReconnectionToken { reconnection_token }) => shared.tokens.refresh(reconnection_token),
                Ok(Text::Error { message }) => last_words = Some(cut(&message).into()),
                Ok(Text::Other) => {}
                Err(error) => tracing::debug!(%error, "the server sent a text that is none of its own"),
            },
            Message::Close(frame) => {
                let reason = frame.map(|frame| frame.reason.as_str().to_owned()).filter(|reason| !reason.is_empty());
                break reason.unwrap_or_else(|| "the server closed it".to_owned());
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    };
    last_words.map_or_else(|| ended.into(), Into::into)
}

/// Also of what was put together from pieces.
pub(crate) fn take(shared: &Arc<Shared>, incoming: Incoming) {
    match incoming {
        Incoming::Call(call) if serving::is_for_a_service(&call) => serving::serve(shared, call),
        Incoming::Call(call) => take_answer(shared, call),
        Incoming::Event(event) => take_event(shared, &event),
    }
}

fn take_frame(shared: &Arc<Shared>, frame: &[u8]) {
    match wire::decode(frame, &shared.settings.limits) {
        Ok(incoming) => take(shared, incoming),
        Err(error) => {
            // A stranger who sends many fills no log: the first is told of, and each that doubles their number.
            let number = shared.malformed.count();
            if number.is_power_of_two() {
                tracing::warn!(client = %shared.own_id(), %error, bytes = frame.len(), number, "a frame cannot be read");
            }
            if let Some((from, method)) = wire::decode_address(frame, &shared.settings.limits)
                && let Some((session, _)) = method.split_once('.')
            {
                shared.calls.malformed(session, &from, error);
            }
        }
    }
}

/// Of calls that nobody waits for any more, nobody hears.
fn take_answer(shared: &Shared, call: IncomingCall) {
    let Some((session, verb)) = call.method.split_once('.') else { return };
    let from = call.from.as_str();
    let mut arguments = call.args.into_iter();
    let argument = || arguments.next().unwrap_or(Value::Nil);
    let found = match verb {
        "resolve" => shared.calls.resolve(session, from, { argument }()),
        "reject" => {
            let reason = { argument }();
            let rejected = shared.calls.reject(session, from, &reason, call.relayed.as_ref(), &shared.own_id());
            if rejected == Rejected::ByOwnConnection {
                shared.own_connection_closed.notify_waiters();
            }
            rejected != Rejected::Nothing
        }
        "heartbeat" => shared.calls.sign_of_life(session, from),
        _ => false,
    };
    if !found {
        tracing::debug!(%from, verb, "an answer came for a call that nobody waits for");
    }
}

fn take_event(shared: &Shared, event: &IncomingEvent) {
    // The server says it itself. What a client sends under this name is relayed, with the sender's.
    if event.from.is_some() {
        return;
    }
    let field = |name: &str| {
        let fields = event.data.as_map()?;
        fields.iter().find(|(key, _)| key.as_str() == Some(name))?.1.as_str()
    };
    let Some(id) = field("id") else { return };
    match event.kind.as_str() {
        "client_disconnected" => match field("workspace") {
            Some(workspace) if !id.contains('/') => shared.calls.peer_disconnected(&format!("{workspace}/{id}")),
            _ => shared.calls.peer_disconnected(id),
        },
        "service_removed" => {
            // It is said, too, where one of its own is registered again. Whoever is told looks before he acts.
            let own = id.strip_prefix(&*shared.own_id()).and_then(|rest| rest.strip_prefix(':'));
            if own.is_some_and(|service| shared.services.offers.get(service).is_some()) {
                shared.removals.send_modify(|removals| *removals += 1);
            }
        }
        _ => {}
    }
}
