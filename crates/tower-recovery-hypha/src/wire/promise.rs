use std::time::Duration;

use rmpv::Value;

use super::fields::{Fields, shown, wrong_type};
use super::{Callback, MalformedFrame, Promise};

/// The caller's short form of a promise: callbacks under the name of its session.
const SHORT: &str = "*";

/// Reads a promise that came with a call of `from`; `interval` is the field `t` beside it.
pub(super) fn read(
    promise: Value,
    interval: Option<Value>,
    from: &str,
    session: Option<&str>,
) -> Result<Promise, MalformedFrame> {
    if promise.as_str() == Some(SHORT) {
        let session = session.ok_or(MalformedFrame::MissingField { field: "session" })?;
        let callback = |name: &str| Callback { target: from.to_owned(), method: format!("{session}.{name}") };
        return Ok(Promise {
            resolve: callback("resolve"),
            reject: callback("reject"),
            heartbeat: Some(callback("heartbeat")),
            interval: interval.map(|seconds| period("t", &seconds)).transpose()?.flatten(),
        });
    }
    if !promise.is_map() {
        return Err(wrong_type("promise", "a map or `*`", &promise));
    }
    let mut fields = Fields::of(promise, "promise")?;
    let mut callback = |name| fields.take(name).map(|encoded| encoded_method(name, encoded, from)).transpose();
    let resolve = callback("resolve")?.ok_or(MalformedFrame::MissingField { field: "resolve" })?;
    let reject = callback("reject")?.ok_or(MalformedFrame::MissingField { field: "reject" })?;
    let heartbeat = callback("heartbeat")?;
    let interval = fields.take("interval").map(|seconds| period("interval", &seconds)).transpose()?.flatten();
    Ok(Promise { resolve, reject, heartbeat, interval })
}

/// A method as `hypha-rpc` encodes one, of which a target without a workspace is one beside the caller.
fn encoded_method(name: &'static str, encoded: Value, from: &str) -> Result<Callback, MalformedFrame> {
    let mut fields = Fields::of(encoded, name)?;
    let kind = fields.require_text("_rtype")?;
    if kind != "method" {
        return Err(MalformedFrame::WrongValue { field: "_rtype", expected: "`method`", found: shown(&kind) });
    }
    let target = fields.require_text("_rtarget")?;
    let target = match from.split_once('/') {
        _ if target.contains('/') => target,
        Some((workspace, _)) => format!("{workspace}/{target}"),
        None => {
            let expected = "`workspace/client`";
            return Err(MalformedFrame::WrongValue { field: "from", expected, found: shown(from) });
        }
    };
    let method = fields.require_text("_rmethod")?;
    // We would call it in our own name: a stranger could have us call what only we may.
    if target != from || method.starts_with("services.") {
        let expected = "a method of the caller's session";
        return Err(MalformedFrame::WrongValue { field: name, expected, found: shown(&format!("{target}:{method}")) });
    }
    Ok(Callback { target, method })
}

/// Seconds, more than none. A period that no clock can hold is none that anybody waits for.
fn period(field: &'static str, seconds: &Value) -> Result<Option<Duration>, MalformedFrame> {
    let number = seconds.as_f64().ok_or_else(|| wrong_type(field, "a number of seconds", seconds))?;
    if number.is_nan() || number <= 0.0 {
        let expected = "more than 0 seconds";
        return Err(MalformedFrame::WrongValue { field, expected, found: number.to_string() });
    }
    // What rounds to nothing is not zero either.
    Ok(Duration::try_from_secs_f64(number).ok().map(|period| period.max(Duration::from_nanos(1))))
}
