//! From a call that came in to its answer.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use rmpv::Value;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{MissedTickBehavior, interval, timeout},
};

use super::{LocalService, built_in, local_service::Handler};
use crate::{
    RemoteError,
    calls::Target,
    client::{CHUNK, SLACK, Shared, answer},
    serving::Invocation,
    wire::{Body, Callback, IncomingCall, Promise, encode_body},
};

const SERVICES: &str = "services.";
/// How long a long result may take, in times for which a call waits for a sign of life.
const LONGEST_ANSWER: u32 = 8;
/// Whatever a caller asks for.
const SHORTEST_BEAT: Duration = Duration::from_millis(200);

/// Whether it calls a service; otherwise it answers a call of ours.
pub(crate) fn is_for_a_service(call: &IncomingCall) -> bool {
    call.method.starts_with(SERVICES)
}

/// Begins to serve a call. What every client has to answer is answered here; a method of the user's runs in a task of its own.
pub(crate) fn serve(shared: &Arc<Shared>, call: IncomingCall) {
    // The server's own routing calls no services.
    if call.relayed.is_none() {
        return;
    }
    let path = call.method.strip_prefix(SERVICES).unwrap_or_default();
    if let Some(method) = path.strip_prefix("built-in.") {
        let outcome = built_in::call(shared, method, &call);
        reply_now(shared, call.promise.as_ref(), outcome);
        return;
    }
    match find(shared, path, &call) {
        Ok((handler, place)) => shared.services.spawn(run(Arc::clone(shared), handler, place, call)),
        Err(error) => reply_now(shared, call.promise.as_ref(), Err(error)),
    }
}

/// The method, if the caller may call it, and a place for the call.
fn find(shared: &Shared, path: &str, call: &IncomingCall) -> Result<(Arc<Handler>, OwnedSemaphorePermit), RemoteError> {
    let found = path.split_once('.').and_then(|(service, method)| {
        let service = shared.services.offers.get(service)?;
        let handler = service.handler(method)?;
        Some((service, handler))
    });
    let (service, handler) = found.ok_or_else(|| method_not_found(shared, call))?;
    check_access(shared, &service, call)?;
    let place = Arc::clone(&shared.services.places).try_acquire_owned();
    Ok((handler, place.map_err(|_| RemoteError::new("RuntimeError", "the client serves as many calls as it can"))?))
}

/// In the words of hypha-rpc, whose callers look for them.
pub(super) fn method_not_found(shared: &Shared, call: &IncomingCall) -> RemoteError {
    let message = format!("Method not found: {}:{} at {}", call.from, call.method, shared.settings.client_id);
    RemoteError::new("Exception", message)
}

/// The server's workspace manager asks for those whom it has let through.
pub(super) fn check_access(shared: &Shared, service: &LocalService, call: &IncomingCall) -> Result<(), RemoteError> {
    let workspace = call.from.split('/').next().unwrap_or_default();
    let own = shared.workspace().unwrap_or_default();
    let is_manager = || shared.session().is_some_and(|session| *session.manager == *call.from);
    if service.is_open_to(workspace, &own) || is_manager() {
        return Ok(());
    }
    let message = format!(
        "Permission denied for the protected service {}, workspace mismatch: {own} != {workspace}",
        service.name()
    );
    Err(RemoteError::new("PermissionError", message))
}

async fn run(shared: Arc<Shared>, handler: Arc<Handler>, place: OwnedSemaphorePermit, call: IncomingCall) {
    let IncomingCall { from, session, relayed, args, kwargs, promise, .. } = call;
    let user = relayed.map_or(Value::Nil, |relayed| relayed.user);
    let invocation = Invocation { arguments: args, keywords: kwargs, caller: from.into(), user };
    // A panic is the method's, and ends nothing but this call.
    let outcome = AssertUnwindSafe(async { handler(invocation).await }).catch_unwind();
    let outcome = outcome.map(|outcome| outcome.unwrap_or_else(|_| Err(panicked())));
    let Some(promise) = promise else {
        outcome.await.ok();
        return;
    };
    let answered = async {
        let outcome = outcome.await;
        drop(place);
        reply(&shared, &promise, session.as_deref(), outcome).await;
    };
    tokio::select! {
        biased;
        () = answered => {}
        // Also while the answer waits for its place.
        never = beat(&shared, &promise) => match never {},
    }
}

fn panicked() -> RemoteError {
    RemoteError::new("RuntimeError", "the method panicked")
}

/// Tells the caller that it will have its answer.
async fn beat(shared: &Shared, promise: &Promise) -> std::convert::Infallible {
    if let (Some(heartbeat), Some(period)) = (&promise.heartbeat, promise.interval) {
        let mut beats = interval(period.max(SHORTEST_BEAT));
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            shared.send_now(Target::Peer((*heartbeat.target).into()), &*heartbeat.method, &[]);
        }
    }
    std::future::pending().await
}

async fn reply(shared: &Arc<Shared>, promise: &Promise, session: Option<&str>, outcome: Result<Value, RemoteError>) {
    let (Callback { target, method }, value) = addressed(promise, outcome);
    let body = encode_body(&Body { args: &[value], ..Body::default() });
    let (to, method): (Arc<str>, Arc<str>) = ((**target).into(), (**method).into());
    let bound = shared.settings.limits.max_message_bytes;
    if body.len() <= CHUNK + SLACK {
        shared.send(Target::Peer(to), method, body).await;
    } else if body.len() > bound {
        let message = format!("the result has {} bytes, but it must have at most {bound}", body.len());
        let refused = RemoteError::new("ValueError", message).to_value();
        let body = encode_body(&Body { args: &[refused], ..Body::default() });
        shared.send(Target::Peer(to), &*promise.reject.method, body).await;
    } else {
        // A receiver that says for ever that it still works has had its time.
        let limit = shared.settings.patience.answer * LONGEST_ANSWER;
        match timeout(limit, answer(shared, to, session, &method, &body)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(caller = %target, error = &error as &dyn std::error::Error, "a long result could not be given");
            }
            Err(_elapsed) => tracing::warn!(caller = %target, ?limit, "a long result was not taken in time"),
        }
    }
}

/// For what is answered at once. If there is no place for the answer, the connection stands still, and the caller sees its own time run out.
fn reply_now(shared: &Shared, promise: Option<&Promise>, outcome: Result<Value, RemoteError>) {
    let Some(promise) = promise else { return };
    let (Callback { target, method }, value) = addressed(promise, outcome);
    shared.send_now(Target::Peer((**target).into()), &**method, &[value]);
}

fn addressed(promise: &Promise, outcome: Result<Value, RemoteError>) -> (&Callback, Value) {
    match outcome {
        Ok(value) => (&promise.resolve, value),
        Err(error) => (&promise.reject, error.to_value()),
    }
}
