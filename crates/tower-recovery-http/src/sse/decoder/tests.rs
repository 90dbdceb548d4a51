use std::io;

use futures_util::{FutureExt, StreamExt, stream};
use http::HeaderMap;
use http_body::Frame;
use http_body_util::{Full, StreamBody};

use super::*;
use crate::sse::{EventNotUtf8, EventTooLong, SseEvent};

type Items = Vec<Result<SseItem, String>>;

fn frames(chunks: &[&'static [u8]]) -> impl Body<Data = Bytes, Error = io::Error> + Unpin + use<> {
    let frames: Vec<_> = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk)))).collect();
    StreamBody::new(stream::iter(frames))
}

fn all(decoder: SseDecoder<impl Body<Data = Bytes, Error: Into<BoxError>> + Unpin>) -> Items {
    let items = decoder.map(|item| item.map_err(|error| error.to_string()));
    items.collect().now_or_never().expect("the body is ready")
}

fn decoded(chunks: &[&'static [u8]]) -> Items {
    all(SseDecoder::new(frames(chunks)))
}

fn event(data: &str) -> SseItem {
    SseItem::Event(SseEvent::new(data))
}

fn raw(text: &'static str) -> SseItem {
    SseItem::Raw(Bytes::from_static(text.as_bytes()))
}

/// The events of a text that comes as a whole, which is to give nothing else.
fn events(text: &'static str) -> Vec<SseEvent> {
    let items = decoded(&[text.as_bytes()]).into_iter().map(Result::unwrap);
    items.filter_map(SseItem::into_event).collect()
}

#[test]
fn events_are_those_of_the_standard() {
    let of = SseEvent::new;
    for (text, expected) in [
        // The examples of WHATWG HTML §9.2.6.
        ("data: YHOO\ndata: +2\ndata: 10\n\n", vec![of("YHOO\n+2\n10")]),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            vec![of("first event").with_id("1"), of("second event").with_id("")],
        ),
        ("data\n\ndata\ndata\n\ndata:", vec![of(""), of("\n")]),
        ("data:test\n\ndata: test\n\n", vec![of("test"), of("test")]),
        // Fields.
        ("event: a\nevent: b\ndata: x\n\ndata: y\n\n", vec![of("x").with_event("b"), of("y")]),
        ("event:\ndata: x\n\n", vec![of("x")]),
        ("id: 1\nid: 2\0\ndata: x\n\n", vec![of("x").with_id("1")]),
        (
            "retry: 10\nretry: +20\nretry: 3x\nretry:\ndata: x\n\n",
            vec![of("x").with_retry(std::time::Duration::from_millis(10))],
        ),
        ("Data: no\ndata : no\n data: no\nother: no\nno\ndata: x\n\n", vec![of("x")]),
        ("data: \u{fc}\u{1f600}\u{feff}\n\n", vec![of("\u{fc}\u{1f600}\u{feff}")]),
        ("\u{feff}data: x\n\n\u{feff}data: no\n\n", vec![of("x")]),
        // Line ends.
        ("data: x\r\ndata: y\r\n\r\ndata: z\r\rdata\n\r\n", vec![of("x\ny"), of("z"), of("")]),
        // A block without data is no event, but what it says holds.
        ("event: x\n\ndata: y\n\n", vec![of("y")]),
        (
            "id: 1\n\nid: 2\nretry: 5\n\ndata: x\n\ndata: y\n\n",
            vec![of("x").with_id("2").with_retry(std::time::Duration::from_millis(5)), of("y")],
        ),
        ("id: 1\n\nid: 2\ndata: x\n\n", vec![of("x").with_id("2")]),
        ("id: 1\n\nid\n\ndata: x\n\n", vec![of("x").with_id("")]),
        // What is unfinished is none.
        ("data: x", vec![]),
        ("data: x\n", vec![]),
        ("data: x\r", vec![]),
        ("data: x\n\ndata: y\n: c", vec![of("x")]),
    ] {
        assert_eq!(events(text), expected, "{text:?}");
    }
}

#[test]
fn a_frame_without_a_whole_event_gives_one_sign_of_life() {
    let keep_alive = || Ok(SseItem::KeepAlive);
    for (chunks, expected) in [
        (vec![": a\n\n: b\n\n:"], vec![keep_alive()]),
        (vec![":", " ", "a", "\n"], vec![keep_alive(), keep_alive(), keep_alive(), keep_alive()]),
        (vec!["\n", "\r\n\r\n"], vec![keep_alive(), keep_alive()]),
        (vec!["event: ping\n\n"], vec![keep_alive()]),
        (
            vec!["id: 7\n", "\n", "data: x\n\n"],
            vec![keep_alive(), keep_alive(), Ok(SseItem::Event(SseEvent::new("x").with_id("7")))],
        ),
        (vec!["da", "ta: ", "x\n", "\n"], vec![keep_alive(), keep_alive(), keep_alive(), Ok(event("x"))]),
        (
            vec!["data: x\n", ": c\n", "data: y\n", "\n"],
            vec![keep_alive(), keep_alive(), keep_alive(), Ok(event("x\ny"))],
        ),
        (vec!["data: 0123", "\n\nda"], vec![keep_alive(), Ok(event("0123"))]),
        (vec!["data: x\n\n: c\n\n"], vec![Ok(event("x"))]),
        (vec![": c\n\ndata: x\n\n"], vec![Ok(event("x"))]),
        (vec!["data: x\n\ndata: y\n\nda", "ta: z\n\n"], vec![Ok(event("x")), Ok(event("y")), Ok(event("z"))]),
        (vec!["\u{feff}", "", "data\n\n"], vec![keep_alive(), Ok(event(""))]),
    ] {
        let bytes: Vec<_> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
        assert_eq!(decoded(&bytes), expected, "{chunks:?}");
    }
}

/// B77: the first part of a ping is not to look like work.
#[test]
fn b77_a_ping_that_comes_in_two_frames_is_a_sign_of_life_and_no_progress() {
    let ping = SseItem::Event(SseEvent::new("{}").with_event("ping"));
    let items = decoded(&[b"event: ping\n", b"data: {}\n\nevent: pi", b"ng\n", b"data: {}\n\n"]);
    let expected = [SseItem::KeepAlive, ping.clone(), SseItem::KeepAlive, ping];
    assert_eq!(items, expected.map(Ok));
}

#[test]
fn an_unfinished_event_is_progress_when_it_has_grown_beyond_any_ping() {
    const PART: &[u8] = &[b'x'; 2 << 10];
    const TO_THE_BORDER: &[u8] = &[b'x'; (2 << 10) - "data: ".len() - 1];
    let (keep_alive, progress) = (|| Ok(SseItem::KeepAlive), || Ok(SseItem::Progress));
    let items = decoded(&[b"data: ", PART, TO_THE_BORDER, b"x", b"\n", b": a comment\n", PART, b"\n\n"]);
    let expected = [keep_alive(), keep_alive(), keep_alive(), progress(), progress(), keep_alive(), progress()];
    assert_eq!((&items[..7], items.len()), (&expected[..], 8), "and then the event, which is whole");
    let items = decoded(&[b"data: 1\n\ndata: ", PART, PART, b"\n\ndata: "]);
    assert_eq!(items[..3], [Ok(event("1")), keep_alive(), progress()]);
    assert_eq!(items.len(), 4, "an event is a sign of life of its own");
}

#[test]
fn an_event_comes_with_its_last_byte_and_not_with_the_next_frame() {
    let body = StreamBody::new(
        stream::iter([Ok::<_, io::Error>(Frame::data(Bytes::from_static(b"data: x\r\n\r")))]).chain(stream::pending()),
    );
    let mut decoder = SseDecoder::new(body);
    assert_eq!(decoder.next().now_or_never().unwrap().unwrap().unwrap(), event("x"));
    assert!(decoder.next().now_or_never().is_none());
}

#[test]
fn what_is_no_event_stream_but_a_json_object_comes_raw() {
    for (chunks, expected) in [
        (vec!["{\"error\":", "1}"], vec![SseItem::KeepAlive, SseItem::KeepAlive, raw("{\"error\":1}")]),
        (vec!["{\n  \"error\": 1\n}\n\n"], vec![raw("{\n  \"error\": 1\n}\n")]),
        (vec![": c\n\n {\"error\":1}"], vec![SseItem::KeepAlive, raw(" {\"error\":1}")]),
        (vec!["data: {}\n\n{\"error\":1}"], vec![event("{}")]),
        (vec!["id: 1\n\n{\"error\":1}"], vec![SseItem::KeepAlive]),
        (vec!["nothing\n\n"], vec![SseItem::KeepAlive]),
    ] {
        let bytes: Vec<_> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
        assert_eq!(decoded(&bytes), expected.into_iter().map(Ok).collect::<Items>(), "{chunks:?}");
    }
}

#[test]
fn an_error_comes_after_the_events_before_it_and_is_the_end() {
    let mut decoder = SseDecoder::new(frames(&[b"data: x\n\ndata: \xFF\n\ndata: y\n\n"]));
    let mut next = || decoder.next().now_or_never().unwrap();
    assert_eq!(next().unwrap().unwrap(), event("x"));
    assert!(next().unwrap().unwrap_err().is::<EventNotUtf8>());
    assert!(next().is_none());
    assert!(decoder.is_terminated());
}

#[test]
fn what_is_not_utf_8_in_a_comment_or_in_an_unknown_field_is_passed_over() {
    assert_eq!(decoded(&[b": \xFF\n\xFF: \xFF\ndata: x\n\n"]), [Ok(event("x"))]);
    for text in [&b"event: \xFF\ndata\n\n"[..], b"id: \xC3\ndata\n\n", b"data: \xC3\ndata: \xBC\n\n"] {
        assert_eq!(decoded(&[text]), [Err("an event is not UTF-8".to_owned())], "{text:?}");
    }
}

#[test]
fn an_event_over_the_limit_ends_the_stream_where_it_passes_it() {
    let decode = |chunks: &[&'static [u8]]| all(SseDecoder::new(frames(chunks)).max_event_bytes(16).unwrap());
    let too_long = || Err(EventTooLong { limit: 16 }.to_string());
    assert_eq!(decode(&[b"data: 123456789\n\ndata: 0\n\n"]), [Ok(event("123456789")), Ok(event("0"))]);
    assert_eq!(decode(&[b"data: 1\n\ndata: 1234567890\n\n"]), [Ok(event("1")), too_long()]);
    assert_eq!(decode(&[b"data: 1234", b"567890", b"1"]), [Ok(SseItem::KeepAlive), Ok(SseItem::KeepAlive), too_long()]);
    assert_eq!(decode(&[b"x:\nx:\nx:\nx:\nx:\n", b"x:\n"]), [Ok(SseItem::KeepAlive), too_long()]);
    assert_eq!(decode(&[&[b':'; 1000], b"\ndata: 1\n\n"]), [Ok(SseItem::KeepAlive), Ok(event("1"))]);
}

#[test]
fn a_limit_that_is_set_late_holds_for_what_has_come() {
    let mut decoder = SseDecoder::new(frames(&[b"data: a part of it", b" and more"]));
    assert!(decoder.next().now_or_never().is_some());
    let mut decoder = decoder.max_event_bytes(4).unwrap();
    assert!(decoder.next().now_or_never().unwrap().unwrap().unwrap_err().is::<EventTooLong>());
}

#[test]
fn the_limit_has_bounds() {
    let with = |limit| SseDecoder::new(Full::<Bytes>::default()).max_event_bytes(limit);
    for limit in [1, 1 << 30] {
        assert!(with(limit).is_ok());
    }
    for limit in [0, (1 << 30) + 1] {
        let expected = format!("max_event_bytes is {limit}, but it must be from 1 to 1073741824 (1 GiB)");
        assert_eq!(with(limit).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_error_of_a_body_is_handed_on_and_is_the_end() {
    let body = StreamBody::new(stream::iter([
        Ok(Frame::data(Bytes::from_static(b"data: x\n\ndata: y"))),
        Err(io::Error::from(io::ErrorKind::ConnectionReset)),
        Ok(Frame::data(Bytes::from_static(b"\n\n"))),
    ]));
    let mut decoder = SseDecoder::new(body);
    let mut next = || decoder.next().now_or_never().unwrap();
    assert_eq!(next().unwrap().unwrap(), event("x"));
    assert_eq!(next().unwrap().unwrap_err().downcast::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionReset);
    assert!(next().is_none());
}

#[test]
fn trailers_are_thrown_away() {
    let body = StreamBody::new(stream::iter([
        Ok::<_, io::Error>(Frame::data(Bytes::from_static(b"data: x\n\n"))),
        Ok(Frame::trailers(HeaderMap::new())),
    ]));
    assert_eq!(all(SseDecoder::new(body)), [Ok(event("x"))]);
}

#[test]
fn what_is_raw_comes_frame_by_frame() {
    assert_eq!(all(SseDecoder::raw(frames(&[b"{", b"", b"}\n\n"]))), [Ok(raw("{")), Ok(raw("}\n\n"))]);
}
