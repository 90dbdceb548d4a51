use std::time::Duration;

use rmpv::Value;

/// To whom a call goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// Ourselves; the server writes it anew.
    pub(crate) from: &'a str,
    /// The callee, `workspace/client`.
    pub(crate) to: &'a str,
    /// The path of the method there.
    pub(crate) method: &'a str,
    /// Our name for this call, if we wait for its answer.
    pub(crate) session: Option<&'a str>,
    /// The callee's name for the call within which we make this one.
    pub(crate) parent: Option<&'a str>,
}

/// What a call brings along.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body<'a> {
    /// The arguments by position.
    pub(crate) args: &'a [Value],
    /// The arguments by name.
    pub(crate) kwargs: &'a [(Value, Value)],
    /// That we wait for the answer, and how often we want a sign of life until then.
    pub(crate) promise: Option<Duration>,
}

/// The first half of a frame.
pub(crate) fn encode_head(head: &Head<'_>) -> Vec<u8> {
    let fields = [
        Some(("type", "method")),
        Some(("from", head.from)),
        Some(("to", head.to)),
        Some(("method", head.method)),
        head.parent.map(|parent| ("parent", parent)),
        head.session.map(|session| ("session", session)),
    ];
    let mut out = Vec::new();
    map(&mut out, fields.iter().flatten().count());
    for (name, value) in fields.into_iter().flatten() {
        text(&mut out, name);
        text(&mut out, value);
    }
    out
}

/// The second half of a frame, which is empty if there is nothing to say.
pub(crate) fn encode_body(body: &Body<'_>) -> Vec<u8> {
    let Body { args, kwargs, promise } = *body;
    let named = usize::from(!kwargs.is_empty());
    let arguments = args.len() + named;
    let fields = usize::from(arguments > 0) + named + 2 * usize::from(promise.is_some());
    let mut out = Vec::new();
    if fields == 0 {
        return out;
    }
    map(&mut out, fields);
    if arguments > 0 {
        text(&mut out, "args");
        array(&mut out, arguments);
        for argument in args {
            value(&mut out, argument);
        }
    }
    if named > 0 {
        map(&mut out, kwargs.len());
        for (name, argument) in kwargs {
            value(&mut out, name);
            value(&mut out, argument);
        }
        text(&mut out, "with_kwargs");
        value(&mut out, &Value::Boolean(true));
    }
    if let Some(interval) = promise {
        text(&mut out, "promise");
        text(&mut out, "*");
        text(&mut out, "t");
        value(&mut out, &Value::F64(interval.as_secs_f64()));
    }
    out
}

const MEMORY: &str = "memory takes every byte";

fn map(out: &mut Vec<u8>, length: usize) {
    rmp::encode::write_map_len(out, length as u32).expect(MEMORY);
}

fn array(out: &mut Vec<u8>, length: usize) {
    rmp::encode::write_array_len(out, length as u32).expect(MEMORY);
}

fn text(out: &mut Vec<u8>, text: &str) {
    rmp::encode::write_str(out, text).expect(MEMORY);
}

fn value(out: &mut Vec<u8>, value: &Value) {
    rmpv::encode::write_value(out, value).expect(MEMORY);
}
