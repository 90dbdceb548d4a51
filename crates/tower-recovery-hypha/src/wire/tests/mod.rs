mod frames;
mod malformed;
mod memory;
mod properties;

use rmpv::Value;

use super::{Incoming, IncomingCall, Limits, MalformedFrame, decode};

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../../golden/", $name, ".msgpack")).as_slice()
    };
}
use golden;

fn read(frame: &[u8]) -> Result<Incoming, MalformedFrame> {
    decode(frame, &Limits::default())
}

#[track_caller]
fn call(frame: &[u8]) -> IncomingCall {
    match read(frame) {
        Ok(Incoming::Call(call)) => call,
        other => panic!("no call: {other:?}"),
    }
}

fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// The values one after the other.
fn packed<const N: usize>(values: [Value; N]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        rmpv::encode::write_value(&mut out, &value).unwrap();
    }
    out
}
