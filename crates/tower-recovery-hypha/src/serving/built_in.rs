//! The service that every client must have: the server pings it, and long messages come through it.

use std::{sync::Arc, time::Duration};

use rmpv::Value;
use tokio::time::Instant;

use super::{
    answering::{check_access, method_not_found},
    local_service::{map, remote_method},
    services::lock,
};
use crate::{
    RemoteError,
    client::Shared,
    connection::take,
    wire::{ChunkError, Chunks, IncomingCall, decode_assembled},
};

const METHODS: [&str; 7] = [
    "ping",
    "get_service",
    "message_cache.create",
    "message_cache.append",
    "message_cache.set",
    "message_cache.process",
    "message_cache.remove",
];
/// From this version on pieces of a message may come in any order.
const API_VERSION: u8 = 3;
/// A message of which no piece comes for this long is not completed any more.
const IDLE: Duration = Duration::from_secs(60);

/// Answers a call of it.
pub(super) fn call(shared: &Arc<Shared>, method: &str, call: &IncomingCall) -> Result<Value, RemoteError> {
    match method.strip_prefix("message_cache.") {
        Some(step) => message_cache(shared, step, call),
        None => match method {
            "ping" => Ok("pong".into()),
            "get_service" => get_service(shared, call),
            _ => Err(method_not_found(shared, call)),
        },
    }
}

/// How the registry is told of it.
pub(crate) fn registration(workspace: &str, client: &str, app: &str, nonce: &str) -> Value {
    let config = map([
        ("visibility", "public".into()),
        ("require_context", true.into()),
        ("api_version", API_VERSION.into()),
        ("workspace", workspace.into()),
        (super::local_service::NONCE, nonce.into()),
    ]);
    map([
        ("id", format!("{workspace}/{client}:built-in").into()),
        ("name", format!("Builtin services for {workspace}/{client}").into()),
        ("type", "built-in".into()),
        ("description", Value::Nil),
        ("docs", Value::Nil),
        ("app_id", app.into()),
        ("config", config),
        ("service_schema", Value::Map(Vec::new())),
    ])
}

fn get_service(shared: &Shared, call: &IncomingCall) -> Result<Value, RemoteError> {
    let name = argument(call, 0).and_then(Value::as_str).ok_or_else(|| wrong("service_id", "a string"))?;
    let own = shared.own_id();
    let session = shared.session();
    let base_url = session.as_ref().and_then(|session| session.base_url.as_deref());
    if name == "built-in" {
        return Ok(as_remote(&own, base_url));
    }
    let Some(service) = shared.services.offers.get(name) else {
        return Err(RemoteError::new("KeyError", format!("'Service not found: {name}'")));
    };
    check_access(shared, &service, call)?;
    Ok(service.as_remote(&own, base_url))
}

fn as_remote(own_id: &str, base_url: Option<&str>) -> Value {
    let method = |path: &str| {
        let name = path.rsplit('.').next().unwrap_or(path);
        remote_method(own_id, base_url, &format!("services.built-in.{path}"), name)
    };
    let (in_cache, plain): (Vec<&str>, Vec<&str>) =
        METHODS.into_iter().partition(|path| path.starts_with("message_cache."));
    let config =
        map([("visibility", "public".into()), ("require_context", true.into()), ("api_version", API_VERSION.into())]);
    let mut fields: Vec<(Value, Value)> = vec![
        ("id".into(), "built-in".into()),
        ("name".into(), format!("Builtin services for {own_id}").into()),
        ("type".into(), "built-in".into()),
        ("config".into(), config),
    ];
    fields.extend(plain.into_iter().map(|path| (path.into(), method(path))));
    let cache = in_cache.into_iter().map(|path| (path.rsplit('.').next().unwrap_or(path).into(), method(path)));
    fields.push(("message_cache".into(), Value::Map(cache.collect())));
    Value::Map(fields)
}

/// `create(key, heartbeat, overwrite)`, `append(key, data, heartbeat)`, `set(key, index, data, heartbeat)`, `process(key, heartbeat)`, `remove(key)`. With a heartbeat the key is the name of a call of ours, whose answer
/// the message is.
fn message_cache(shared: &Arc<Shared>, step: &str, call: &IncomingCall) -> Result<Value, RemoteError> {
    let key = argument(call, 0).and_then(Value::as_str).ok_or_else(|| wrong("key", "a string"))?;
    let from = call.from.as_str();
    let (flag, now) = (flag_position(step), Instant::now());
    let is_awaited = flag.is_some_and(|position| argument(call, position).and_then(Value::as_bool).unwrap_or_default());
    if is_awaited && !shared.calls.sign_of_life(key, from) {
        return Err(RemoteError::new("Exception", format!("session does not exist anymore: {key}")));
    }
    let data = |position| match argument(call, position) {
        Some(Value::Binary(data)) => Ok(data.clone()),
        _ => Err(wrong("data", "bytes")),
    };
    let mut chunks = lock(&shared.services.chunks);
    chunks.expire(now, IDLE);
    match step {
        "create" => {
            let overwrite = argument(call, 2).and_then(Value::as_bool).unwrap_or_default();
            let create = if is_awaited { Chunks::create_awaited } else { Chunks::create };
            create(&mut chunks, key, from, overwrite, now).map_err(refused)?;
        }
        "append" => chunks.append(key, from, data(1)?, now).map_err(refused)?,
        "set" => {
            let index = argument(call, 1).and_then(Value::as_u64);
            let index = index.ok_or_else(|| wrong("index", "a number from 0 on"))?;
            chunks.set(key, from, index, data(2)?, now).map_err(refused)?;
        }
        "remove" => chunks.remove(key, from).map_err(refused)?,
        "process" => {
            let message = chunks.process(key, from).map_err(refused)?;
            // What is in it may call this service, too.
            drop(chunks);
            let relayed = call.relayed.clone();
            let incoming = decode_assembled(&message, from, relayed, &shared.settings.limits)
                .map_err(|error| RemoteError::new("ValueError", error.to_string()))?;
            take(shared, incoming);
        }
        _ => return Err(method_not_found(shared, call)),
    }
    Ok(Value::Nil)
}

fn flag_position(step: &str) -> Option<usize> {
    match step {
        "create" | "process" => Some(1),
        "append" => Some(2),
        "set" => Some(3),
        _ => None,
    }
}

fn argument(call: &IncomingCall, position: usize) -> Option<&Value> {
    call.args.get(position)
}

fn wrong(name: &str, wanted: &str) -> RemoteError {
    RemoteError::new("TypeError", format!("{name} must be {wanted}"))
}

fn refused(error: ChunkError) -> RemoteError {
    RemoteError::new("ValueError", error.to_string())
}
