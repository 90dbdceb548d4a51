//! What is refused, and what the refusal says.

use rmpv::Value;

use super::{golden, map, packed, read};
use crate::wire::{Limits, MalformedFrame, decode, decode_assembled};

fn head() -> Vec<(Value, Value)> {
    let field = |name: &str, value: &str| (name.into(), value.into());
    vec![field("type", "method"), field("from", "ws/a"), field("method", "m"), field("session", "s")]
}

#[track_caller]
fn refused(body: Value) -> String {
    read(&packed([Value::Map(head()), body])).unwrap_err().to_string()
}

#[track_caller]
fn refused_head(change: impl FnOnce(&mut Vec<(Value, Value)>)) -> String {
    let mut head = head();
    change(&mut head);
    read(&packed([Value::Map(head)])).unwrap_err().to_string()
}

#[test]
fn a_frame_cut_off_anywhere_but_behind_its_head_is_truncated() {
    let frame = golden!("call");
    // The body of this frame is its four fields.
    let body = packed([map([
        ("args", Value::Array(vec![1.into(), "two".into(), map([("overwrite", true.into())])])),
        ("with_kwargs", true.into()),
        ("promise", "*".into()),
        ("t", 15.0.into()),
    ])]);
    let head_end = frame.len() - body.len();
    for length in (0..frame.len()).filter(|&length| length != head_end) {
        let error = read(&frame[..length]).unwrap_err();
        assert!(matches!(error, MalformedFrame::Truncated { at, .. } if at == length), "{length}: {error}");
    }
    assert!(read(&frame[..head_end]).is_ok());
}

#[test]
fn lengths_that_are_not_there_are_refused() {
    for marker in [0xdb, 0xc6, 0xc9, 0xdd, 0xdf] {
        let error = read(&[marker, 0xff, 0xff, 0xff, 0xff, 0, 0]).unwrap_err();
        assert!(matches!(error, MalformedFrame::Truncated { at: 7, missing } if missing >= 0xffff_fffd), "{error:?}");
    }
}

#[test]
fn a_frame_over_the_limit_is_refused_and_a_message_may_be_longer() {
    let limits = Limits { max_frame_bytes: golden!("call").len() - 1, ..Limits::default() };
    let error = decode(golden!("call"), &limits).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 228 bytes is longer than the limit of 227");
    assert!(decode_assembled(golden!("call"), "ws/a", None, &limits).is_ok());
    let limits = Limits { max_message_bytes: 227, ..Limits::default() };
    assert!(decode_assembled(golden!("call"), "ws/a", None, &limits).is_err());
}

#[test]
fn what_follows_the_body_is_refused() {
    let frame = [golden!("call"), &[0xc0, 0xc0]].concat();
    assert_eq!(read(&frame).unwrap_err(), MalformedFrame::TrailingBytes { excess: 2 });
}

#[test]
fn nesting_is_refused_past_the_limit() {
    let nested = |depth: usize| [golden!("headless"), &[0x81, 0xa1, b'x'], &vec![0x91; depth], &[0xc0]].concat();
    assert!(read(&nested(63)).is_ok());
    let at = golden!("headless").len() + 3 + 64;
    assert_eq!(read(&nested(64)).unwrap_err(), MalformedFrame::TooDeep { at, limit: 64 });
    assert!(read(&nested(1 << 20)).is_err());
}

#[test]
fn the_byte_that_is_never_used_is_refused() {
    assert_eq!(read(&[0x81, 0xc1, 0xc0]).unwrap_err(), MalformedFrame::ReservedMarker { at: 1 });
}

#[test]
fn halves_that_are_no_maps_are_refused() {
    assert_eq!(read(&[0x01]).unwrap_err().to_string(), "the field `head` must be a map, and is an integer");
    assert_eq!(refused(Value::Array(vec![])), "the field `body` must be a map, and is an array");
}

#[test]
fn fields_of_the_head_are_texts_and_there() {
    assert_eq!(refused_head(|head| head[0].1 = 1.into()), "the field `type` must be a text, and is an integer");
    assert_eq!(refused_head(|head| drop(head.remove(0))), "the field `type` is missing");
    assert_eq!(refused_head(|head| drop(head.remove(1))), "the field `from` is missing");
    assert_eq!(refused_head(|head| head[1].1 = Value::Nil), "the field `from` is missing");
    assert_eq!(refused_head(|head| drop(head.remove(2))), "the field `method` is missing");
    assert_eq!(refused_head(|head| head[3].1 = true.into()), "the field `session` must be a text, and is a boolean");
    assert_eq!(refused_head(|head| head.push(("ws".into(), "ws".into()))), "the field `user` is missing");
    assert_eq!(refused_head(|head| head.push(("user".into(), "root".into()))), "the field `ws` is missing");

    let not_utf8 = [0x81, 0xa4, b't', b'y', b'p', b'e', 0xa1, 0xff];
    let error = read(&not_utf8).unwrap_err().to_string();
    assert_eq!(error, "the field `type` must be a text, and is a text that is not UTF-8");
}

#[test]
fn arguments_are_an_array_with_the_named_ones_at_its_end() {
    let args = |args: Value, named: Value| refused(map([("args", args), ("with_kwargs", named)]));
    assert_eq!(args("x".into(), false.into()), "the field `args` must be an array, and is a text");
    assert_eq!(args(Value::Array(vec![]), true.into()), "the field `args` is missing");
    let error = args(Value::Array(vec![1.5.into()]), true.into());
    assert_eq!(error, "the field `args` must be an array with a map at its end, and is a float");
    assert_eq!(args(Value::Nil, 1.into()), "the field `with_kwargs` must be a boolean, and is an integer");
}

#[test]
fn a_promise_says_whom_to_answer() {
    let promise = |promise: Value| refused(map([("promise", promise)]));
    assert_eq!(promise("?".into()), "the field `promise` must be a map or `*`, and is a text");
    assert_eq!(promise(map([])), "the field `resolve` is missing");
    let method = |target: &str, method: &str| {
        map([("_rtype", "method".into()), ("_rtarget", target.into()), ("_rmethod", method.into())])
    };
    assert_eq!(promise(map([("resolve", method("ws/a", "s.resolve"))])), "the field `reject` is missing");
    // We would call it in our own name.
    for (target, path) in [("ws/b", "s.resolve"), ("other/a", "s.resolve"), ("ws/a", "services.worker.stop")] {
        let error = promise(map([("resolve", method(target, path))]));
        assert!(error.starts_with("the field `resolve` must be a method of the caller's session, and is "), "{error}");
    }
    assert_eq!(promise(map([("resolve", "s.resolve".into())])), "the field `resolve` must be a map, and is a text");
    let error = promise(map([("resolve", map([("_rtype", "error".into())]))]));
    assert_eq!(error, "the field `_rtype` must be `method`, and is error");

    let without_session = packed([Value::Map(head()[..3].to_vec()), map([("promise", "*".into())])]);
    assert_eq!(read(&without_session).unwrap_err(), MalformedFrame::MissingField { field: "session" });
}

#[test]
fn a_period_is_a_number_above_zero() {
    let period = |seconds: Value| refused(map([("promise", "*".into()), ("t", seconds)]));
    assert_eq!(period("x".into()), "the field `t` must be a number of seconds, and is a text");
    assert_eq!(period(0.into()), "the field `t` must be more than 0 seconds, and is 0");
    assert_eq!(period((-1.5).into()), "the field `t` must be more than 0 seconds, and is -1.5");
    assert_eq!(period(f64::NAN.into()), "the field `t` must be more than 0 seconds, and is NaN");
}

#[test]
fn an_encrypted_frame_is_refused() {
    assert_eq!(
        read(&packed([Value::Map(head()), map([("_enc", map([])), ("data", Value::Binary(vec![]))])])).unwrap_err(),
        MalformedFrame::Encrypted
    );
}
