//! Messages that are longer than a frame: the receiver puts the pieces together, and is then told to act on them.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use rmpv::Value;
use tokio::time::Instant;

use super::{Lane, Request, Shared};
use crate::{
    CallError,
    calls::{Patience, Target, Ticket},
    secret::secret_name,
    wire::{Body, Head, encode_body, encode_head},
};

/// How long a piece is, and so what may be sent in one: what hypha-rpc sends.
pub(crate) const CHUNK: usize = 256 * 1024;
/// The head has its place beside it.
pub(crate) const SLACK: usize = 512;
/// How many pieces may be under way at a time.
const AT_A_TIME: usize = 8;
/// Over how many connections a long answer is sent.
const MOST_TRIES: u32 = 8;

/// Sends a long request. The callee executes nothing before it is told that all is there, so until then the request was not sent.
pub(super) async fn request(
    shared: &Arc<Shared>,
    mut ticket: Ticket,
    request: Request,
    patience: Patience,
) -> Result<Value, CallError> {
    let Request { lane, to, method, body } = request;
    let to = match to {
        Target::Peer(peer) => peer,
        // Who it is, is known while there is a connection; over the next one it may be somebody else, whom the pieces were not sent to.
        Target::Manager => shared.manager(patience).await?,
    };
    let session = ticket.session();
    let head = Head { from: &shared.own_id(), to: &to, method: &method, session: Some(session), parent: None };
    let mut message = encode_head(&head);
    message.extend_from_slice(&body);
    drop(body);

    let key: Box<str> = secret_name();
    let upload = Upload { shared, lane, to: Target::Peer(to), key: &key, extends: false, patience };
    let pieces = Pieces(Some(&upload));
    upload.pieces(&message).await.map_err(|error| CallError::Upload(Box::new(error)))?;

    // From the moment in which this is handed over, the request may be executed.
    let mut process = shared.calls.open_for(&upload.to, "services.built-in.message_cache.process".into(), &ticket);
    let process = upload.exchange(&mut process, "process", &[]);
    let began = Instant::now();
    let outcome = async {
        let processed = tokio::select! {
            biased;
            outcome = ticket.outcome(began, patience) => return outcome,
            processed = process => processed,
        };
        match processed {
            Ok(_) => ticket.outcome(began, patience).await,
            // The server proves that it was not passed on, or it was never sent: nothing was executed.
            Err(error) if error.is_send_side() => Some(Err(CallError::Upload(Box::new(error)))),
            Err(error) => Some(Err(CallError::Assembly(Box::new(error)))),
        }
    };
    let outcome = outcome.await.unwrap_or_else(|| Err(shared.not_connected(patience)));
    if !matches!(outcome, Err(CallError::Upload(_) | CallError::NotConnected { .. })) {
        pieces.were_taken();
    }
    outcome
}

/// Sends a long answer, over the next connection if the first is cut: `method` is what the caller gave for it, and the key of the pieces its own name for the call, so that they count as signs of life.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    to: Arc<str>,
    session: Option<&str>,
    method: &str,
    body: &[u8],
) -> Result<(), CallError> {
    let head = Head { from: &shared.own_id(), to: &to, method, session: None, parent: session };
    let mut message = encode_head(&head);
    message.extend_from_slice(body);
    let random: Box<str> = secret_name();
    let key = session.unwrap_or(&random);
    let patience = shared.settings.patience;
    let upload = Upload { shared, lane: Lane::Rest, to: Target::Peer(to), key, extends: session.is_some(), patience };
    let mut tries = 1;
    loop {
        let pieces = Pieces(Some(&upload));
        let sent = async {
            upload.pieces(&message).await?;
            upload.step("process", &[]).await
        };
        match sent.await {
            Ok(()) => {
                pieces.were_taken();
                return Ok(());
            }
            // Over the next connection from the beginning. A caller who has the answer by then has forgotten the call, and refuses.
            Err(
                CallError::ConnectionLost { .. }
                | CallError::NotConnected { .. }
                | CallError::OwnConnectionClosed { .. },
            ) if tries < MOST_TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

struct Upload<'a> {
    shared: &'a Arc<Shared>,
    lane: Lane,
    to: Target,
    key: &'a str,
    /// Whether the pieces are of an answer that the receiver waits for.
    extends: bool,
    patience: Patience,
}

impl Upload<'_> {
    async fn pieces(&self, message: &[u8]) -> Result<(), CallError> {
        self.step("create", &[]).await?;
        let pieces = (0..message.len().div_ceil(CHUNK)).map(|index| {
            let end = message.len().min((index + 1) * CHUNK);
            let piece = [Value::from(index), Value::Binary(message[index * CHUNK..end].to_vec())];
            async move { self.step("set", &piece).await }
        });
        stream::iter(pieces).buffer_unordered(AT_A_TIME).try_collect().await
    }

    async fn step(&self, step: &str, values: &[Value]) -> Result<(), CallError> {
        let method = format!("services.built-in.message_cache.{step}").into();
        let mut ticket = self.shared.calls.open(&self.to, method);
        self.exchange(&mut ticket, step, values).await.map(drop)
    }

    async fn exchange(&self, ticket: &mut Ticket, step: &str, values: &[Value]) -> Result<Value, CallError> {
        let args: Vec<Value> =
            [Value::from(self.key)].into_iter().chain(values.iter().cloned()).chain([self.extends.into()]).collect();
        let body = encode_body(&Body { args: &args, kwargs: &[], promise: Some(self.patience.answer / 2) });
        let method = format!("services.built-in.message_cache.{step}").into();
        let request = Request { lane: self.lane, to: self.to.clone(), method, body };
        self.shared.exchange(ticket, request, self.patience).await
    }
}

/// Pieces that the receiver holds for us. If they are never put together, it need not keep them.
struct Pieces<'a, 'b>(Option<&'a Upload<'b>>);

impl Pieces<'_, '_> {
    fn were_taken(mut self) {
        self.0 = None;
    }
}

impl Drop for Pieces<'_, '_> {
    fn drop(&mut self) {
        if let Some(upload) = self.0 {
            let args = [Value::from(upload.key)];
            upload.shared.send_now(upload.to.clone(), "services.built-in.message_cache.remove", &args);
        }
    }
}
