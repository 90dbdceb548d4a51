//! One call, from its arguments to its outcome.

use std::sync::Arc;

use rmpv::Value;

use super::{
    Lane, Request, Shared,
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
    lane: Lane,
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
    let request = Request { lane, to: target, method, body };
    if request.body.len() <= CHUNK + SLACK {
        return shared.exchange(&mut ticket, request, patience).await;
    }
    upload::request(shared, ticket, request, patience).await
}
