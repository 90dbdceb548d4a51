use rmpv::Value;

use super::fields::{Fields, wrong_type};
use super::scan::Scan;
use super::{Incoming, IncomingCall, IncomingEvent, Limits, MalformedFrame, Relayed, promise};

/// Reads a frame as it came from the server.
pub(crate) fn decode(frame: &[u8], limits: &Limits) -> Result<Incoming, MalformedFrame> {
    let (mut head, body) = segments(frame, limits.max_frame_bytes, limits)?;
    let from = head.take_text("from")?;
    let relayed = relayed(&mut head)?;
    read(head, body, from, relayed)
}

/// Reads a message that was put together from chunks. Its own words about its sender are the sender's, who could lie, so `from` and `relayed` are those of the
/// call that asked to process it.
pub(crate) fn decode_assembled(
    message: &[u8],
    from: &str,
    relayed: Option<Relayed>,
    limits: &Limits,
) -> Result<Incoming, MalformedFrame> {
    let (head, body) = segments(message, limits.max_message_bytes, limits)?;
    read(head, body, Some(from.to_owned()), relayed)
}

/// The head and the body.
fn segments(frame: &[u8], max_bytes: usize, limits: &Limits) -> Result<(Fields, Fields), MalformedFrame> {
    if frame.len() > max_bytes {
        return Err(MalformedFrame::TooLong { length: frame.len(), limit: max_bytes });
    }
    let mut scan = Scan::new(frame, limits);
    scan.value()?;
    let head_end = scan.at();
    let body = &frame[head_end..];
    if !body.is_empty() {
        scan.value()?;
    }
    if scan.at() < frame.len() {
        return Err(MalformedFrame::TrailingBytes { excess: frame.len() - scan.at() });
    }
    let head = Fields::of(value(&frame[..head_end])?, "head")?;
    let body = if body.is_empty() { Fields::empty() } else { Fields::of(value(body)?, "body")? };
    Ok((head, body))
}

fn value(mut bytes: &[u8]) -> Result<Value, MalformedFrame> {
    rmpv::decode::read_value(&mut bytes).map_err(|error| MalformedFrame::Undecodable { reason: error.to_string() })
}

fn relayed(head: &mut Fields) -> Result<Option<Relayed>, MalformedFrame> {
    match (head.take_text("ws")?, head.take("user")) {
        (None, None) => Ok(None),
        (Some(workspace), Some(user)) => Ok(Some(Relayed { workspace, user })),
        (None, Some(_)) => Err(MalformedFrame::MissingField { field: "ws" }),
        (Some(_), None) => Err(MalformedFrame::MissingField { field: "user" }),
    }
}

/// Routing stands in the head only, since the server never looks into the body; the rest stands in either.
fn read(
    mut head: Fields,
    mut body: Fields,
    from: Option<String>,
    relayed: Option<Relayed>,
) -> Result<Incoming, MalformedFrame> {
    if head.contains("_enc") || body.contains("_enc") {
        return Err(MalformedFrame::Encrypted);
    }
    let kind = head.require_text("type")?;
    let mut take = |name| body.take(name).or_else(|| head.take(name));
    if kind != "method" {
        let data = take("data").unwrap_or(Value::Nil);
        return Ok(Incoming::Event(IncomingEvent { kind, from, data }));
    }
    let (promise, interval) = (take("promise"), take("t"));
    let (args, kwargs) = arguments(take("args"), take("with_kwargs"))?;
    let from = from.ok_or(MalformedFrame::MissingField { field: "from" })?;
    let method = head.require_text("method")?;
    let session = head.take_text("session")?;
    let promise = promise.map(|promise| promise::read(promise, interval, &from, session.as_deref())).transpose()?;
    Ok(Incoming::Call(IncomingCall { from, method, session, relayed, args, kwargs, promise }))
}

type Arguments = (Vec<Value>, Vec<(Value, Value)>);

/// The arguments by position and by name, of which the latter travel as the last of the former.
fn arguments(args: Option<Value>, with_kwargs: Option<Value>) -> Result<Arguments, MalformedFrame> {
    let mut args = match args {
        None => Vec::new(),
        Some(Value::Array(args)) => args,
        Some(other) => return Err(wrong_type("args", "an array", &other)),
    };
    let kwargs = match with_kwargs {
        None | Some(Value::Boolean(false)) => Vec::new(),
        Some(Value::Boolean(true)) => match args.pop() {
            Some(Value::Map(kwargs)) => kwargs,
            Some(other) => return Err(wrong_type("args", "an array with a map at its end", &other)),
            None => return Err(MalformedFrame::MissingField { field: "args" }),
        },
        Some(other) => return Err(wrong_type("with_kwargs", "a boolean", &other)),
    };
    Ok((args, kwargs))
}
