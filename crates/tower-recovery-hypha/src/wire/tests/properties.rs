//! Frames that chance writes.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rmpv::Value;

use super::{call, golden, read};
use crate::wire::scan::Scan;
use crate::wire::{Body, Callback, Head, Limits, MalformedFrame, encode_body, encode_head};

const GOLDEN: [&[u8]; 6] = [
    golden!("call"),
    golden!("full_promise"),
    golden!("server_refusal"),
    golden!("event"),
    golden!("error_key"),
    golden!("sent"),
];

fn scalar() -> impl Strategy<Value = Value> + Clone {
    let scalar = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::F64),
        (-1e9_f32..1e9).prop_map(Value::F32),
        ".{0,40}".prop_map(Value::from),
        (any::<[u8; 4]>(), 0..300_usize).prop_map(|(bytes, length)| Value::Binary(repeated(bytes, length))),
        (any::<i8>(), vec(any::<u8>(), 0..20)).prop_map(|(kind, data)| Value::Ext(kind, data)),
    ];
    scalar.boxed()
}

/// Chance for each of many bytes takes its time, and tells no more.
fn repeated(bytes: [u8; 4], length: usize) -> Vec<u8> {
    bytes.into_iter().cycle().take(length).collect()
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..20).prop_map(Value::Array),
            vec((inner.clone(), inner), 0..20).prop_map(Value::Map),
        ]
    })
}

/// So many that their number takes two bytes, or a few that are nested: both at once take a debug build a minute, and nothing in the code connects them.
fn arguments() -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![vec(scalar(), 0..20), vec(value(), 0..2)]
}

fn keywords() -> impl Strategy<Value = Vec<(Value, Value)>> {
    arguments().prop_flat_map(|values| {
        let names = vec(".{0,20}".prop_map(Value::from), values.len());
        names.prop_map(move |names| names.into_iter().zip(values.clone()).collect())
    })
}

/// Bytes among which there are many that mean something.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), 0xc0..0xe0_u8, Just(0), Just(1), 0x80..0x96_u8];
    vec(byte, 0..200)
}

/// A frame of hypha-rpc of which some bytes are other ones, or are not there.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<Index>(), option::of(any::<u8>())), 1..6);
    (select(&GOLDEN[..]), changes).prop_map(|(frame, changes)| {
        let mut frame = frame.to_vec();
        for (at, byte) in changes {
            let at = at.index(frame.len());
            match byte {
                Some(byte) => frame[at] = byte,
                None => drop(frame.remove(at)),
            }
        }
        frame
    })
}

/// How long the first value is, by our look over it and by `rmpv`.
fn assert_scan_agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits { max_depth: 500, max_decoded_bytes: usize::MAX, ..Limits::default() };
    let mut scan = Scan::new(bytes, &limits);
    let scanned = scan.value();
    let mut rest = bytes;
    match (scanned, rmpv::decode::read_value(&mut rest)) {
        (Ok(()), Ok(_)) => prop_assert_eq!(scan.at(), bytes.len() - rest.len()),
        // `rmpv` takes the byte that is never used for nil.
        (Err(MalformedFrame::ReservedMarker { .. }), _) | (Err(_), Err(_)) => {}
        (scanned, decoded) => prop_assert!(false, "{scanned:?}, and rmpv: {decoded:?}"),
    }
    Ok(())
}

proptest! {
    #[test]
    fn nothing_panics_and_the_scan_agrees_on_any_bytes(bytes in bytes()) {
        let _ = read(&bytes);
        assert_scan_agrees(&bytes)?;
    }

    #[test]
    fn nothing_panics_and_the_scan_agrees_on_damaged_frames(frame in mutated()) {
        let _ = read(&frame);
        assert_scan_agrees(&frame)?;
    }

    #[test]
    fn the_scan_agrees_on_whatever_can_be_written(value in value()) {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &value).unwrap();
        assert_scan_agrees(&bytes)?;
        bytes.pop();
        assert_scan_agrees(&bytes)?;
    }

    #[test]
    fn what_is_written_is_read(
        from in "[a-z-]{1,20}/[a-z]{1,40}",
        method in (".{0,15}", 0..20_usize).prop_map(|(text, times)| text.repeat(times)),
        session in option::of(".{0,40}"),
        parent in option::of(".{0,40}"),
        args in arguments(),
        kwargs in keywords(),
        millis in option::of(1..u64::from(u32::MAX)),
    ) {
        let promise = session.as_ref().and(millis.map(Duration::from_millis));
        let head = Head { from: &from, to: "ws/x", method: &method, session: session.as_deref(), parent: parent.as_deref() };
        let body = Body { args: &args, kwargs: &kwargs, promise };
        let read = call(&[encode_head(&head), encode_body(&body)].concat());
        prop_assert_eq!(&read.from, &from);
        prop_assert_eq!(&read.method, &method);
        prop_assert_eq!(&read.session, &session);
        prop_assert_eq!(read.args, args);
        prop_assert_eq!(read.kwargs, kwargs);
        let resolve = read.promise.as_ref().map(|promise| promise.resolve.clone());
        let expected = promise.and(session).map(|session| Callback { target: from, method: format!("{session}.resolve") });
        prop_assert_eq!(resolve, expected);
        prop_assert_eq!(read.promise.and_then(|promise| promise.interval), promise);
    }
}
