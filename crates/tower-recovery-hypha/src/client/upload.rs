//! Messages that are longer than a frame: the receiver puts the pieces together, and is then told to act on them.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use rmpv::Value;
use tokio::time::Instant;

use super::Shared;
use crate::{
    CallError,
    calls::{Patience, Target, Ticket},
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
    target: Target,
    method: Arc<str>,
    body: Vec<u8>,
    patience: Patience,
) -> Result<Value, CallError> {
    let session: Box<str> = ticket.session().into();
    let to = match &target {
        Target::Peer(peer) => Arc::clone(peer),
        // Who it is, is known while there is a connection; over the next one it may be somebody else, whom the pieces were not sent to.
        Target::Manager => match shared.session() {
            Some(session) => session.manager,
            None => return Err(CallError::NotConnected { waited: std::time::Duration::ZERO, last: None }),
        },
    };
    let head = Head { from: &shared.own_id(), to: &to, method: &method, session: Some(&session), parent: None };
    let mut message = encode_head(&head);
    message.extend_from_slice(&body);
    drop(body);

    let key: Box<str> = format!("{:032x}", fastrand::u128(..)).into();
    let upload = Upload { shared, to: Target::Peer(Arc::clone(&to)), key: &key, extends: false, patience };
    upload.pieces(&message).await.map_err(|error| CallError::Upload(Box::new(error)))?;
    drop(message);

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
    outcome.await.unwrap_or_else(|| Err(CallError::NotConnected { waited: patience.connection, last: None }))
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
    let random: Box<str> = format!("{:032x}", fastrand::u128(..)).into();
    let key = session.unwrap_or(&random);
    let patience = shared.settings.patience;
    let upload = Upload { shared, to: Target::Peer(to), key, extends: session.is_some(), patience };
    let mut tries = 1;
    loop {
        match upload.whole(&message).await {
            // Over the next connection from the beginning. A caller who has the answer by then has forgotten the call, and refuses.
            Err(CallError::ConnectionLost { .. } | CallError::NotConnected { .. }) if tries < MOST_TRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

struct Upload<'a> {
    shared: &'a Arc<Shared>,
    to: Target,
    key: &'a str,
    /// Whether the pieces are of an answer that the receiver waits for.
    extends: bool,
    patience: Patience,
}

impl Upload<'_> {
    async fn whole(&self, message: &[u8]) -> Result<(), CallError> {
        self.pieces(message).await?;
        let processed = self.step("process", &[]).await;
        if processed.is_err() {
            self.take_back();
        }
        processed
    }

    async fn pieces(&self, message: &[u8]) -> Result<(), CallError> {
        let abandoned = Abandoned(Some(self));
        self.step("create", &[]).await?;
        let pieces = (0..message.len().div_ceil(CHUNK)).map(|index| {
            let end = message.len().min((index + 1) * CHUNK);
            let piece = [Value::from(index), Value::Binary(message[index * CHUNK..end].to_vec())];
            async move { self.step("set", &piece).await }
        });
        stream::iter(pieces).buffer_unordered(AT_A_TIME).try_collect::<()>().await?;
        abandoned.is_complete();
        Ok(())
    }

    /// The receiver need not keep the pieces that it has.
    fn take_back(&self) {
        let args = [Value::from(self.key)];
        self.shared.try_send(self.to.clone(), "services.built-in.message_cache.remove", &args);
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
        self.shared.exchange(ticket, self.to.clone(), method, body, self.patience).await
    }
}

/// Pieces that will not be complete.
struct Abandoned<'a, 'b>(Option<&'a Upload<'b>>);

impl Abandoned<'_, '_> {
    fn is_complete(mut self) {
        self.0 = None;
    }
}

impl Drop for Abandoned<'_, '_> {
    fn drop(&mut self) {
        if let Some(upload) = self.0 {
            upload.take_back();
        }
    }
}
