//! One call, from its arguments to its outcome.

use std::sync::Arc;

use rmpv::Value;

use super::{
    Shared,
    upload::{self, CHUNK, SLACK},
};
use crate::{
    Call, CallError,
    calls::{Patience, Target},
    wire::{Body, encode_body},
};

/// Calls a method of a service, and waits for what it returns.
pub(crate) async fn call(
    shared: &Arc<Shared>,
    target: Target,
    service: &str,
    call: &Call,
    patience: Patience,
) -> Result<Value, CallError> {
    let method: Arc<str> = format!("services.{service}.{}", call.method()).into();
    let body = encode_body(&Body {
        args: call.arguments(),
        kwargs: call.keywords(),
        // So that two of them come in the time that the call waits.
        promise: Some(patience.answer / 2),
    });
    let bound = shared.settings.limits.max_message_bytes;
    if body.len() > bound {
        return Err(CallError::TooLong { bytes: body.len(), bound });
    }
    let mut ticket = shared.calls.open(&target, Arc::clone(&method));
    if body.len() <= CHUNK + SLACK {
        return shared.exchange(&mut ticket, target, method, body, patience).await;
    }
    upload::request(shared, ticket, target, method, body, patience).await
}
