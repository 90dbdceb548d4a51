//! The value against a server that keeps to RFC 9110, and against servers that do not.

use std::ops::Range;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, header, response::Parts};
use http_body::Frame;
use proptest::{collection::vec, option, prelude::*};
use tower_recovery::stream_replacement::{Resume, ResumeRefused};

use super::{RangeResume, served::tests::head};

const TAG: &str = "\"7\"";

fn data(length: usize) -> Frame<Bytes> {
    Frame::data(Bytes::from(vec![b'x'; length]))
}

fn begun(head: &Parts) -> RangeResume {
    let mut resume = RangeResume::new();
    Resume::<Request<()>, Parts, Frame<Bytes>>::begin(&mut resume, head);
    resume
}

/// Of ten bytes, of which so many have been handed out.
fn after(handed_out: usize) -> RangeResume {
    let mut resume = begun(&head(200, &[("etag", TAG), ("content-length", "10")]));
    hand_out(&mut resume, &data(handed_out)).unwrap();
    resume
}

fn hand_out(resume: &mut RangeResume, frame: &Frame<Bytes>) -> Result<(), ResumeRefused> {
    Resume::<Request<()>, Parts, Frame<Bytes>>::hand_out(resume, frame)
}

fn ask(resume: &RangeResume, request: &mut Request<()>) -> Result<(), ResumeRefused> {
    Resume::<Request<()>, Parts, Frame<Bytes>>::ask(resume, request)
}

fn accept(resume: &mut RangeResume, head: &Parts) -> Result<(), ResumeRefused> {
    Resume::<Request<()>, Parts, Frame<Bytes>>::accept(resume, head)
}

#[test]
fn the_rest_is_asked_for_by_its_bytes_under_the_tag_and_nothing_else_is_touched() {
    let given = Request::get("/file").header("if-none-match", "\"6\"").header("accept", "text/plain");
    let mut request = given.header("if-range", "\"5\"").header("range", "bytes=0-").body(()).unwrap();
    ask(&after(4), &mut request).unwrap();
    let mut wanted = HeaderMap::new();
    for (name, value) in [
        (header::IF_NONE_MATCH, "\"6\""),
        (header::ACCEPT, "text/plain"),
        (header::RANGE, "bytes=4-9"),
        (header::IF_RANGE, TAG),
    ] {
        wanted.insert(name, HeaderValue::from_static(value));
    }
    assert_eq!((request.headers(), request.uri().path()), (&wanted, "/file"));
}

#[test]
fn what_cannot_be_resumed_is_not_asked_for() {
    let get = || Request::get("/file");
    for method in [Method::HEAD, Method::POST, Method::PUT] {
        let refused = ask(&after(4), &mut get().method(method).body(()).unwrap()).unwrap_err();
        assert!(refused.reason.contains("GET alone"), "{refused}");
    }
    for ranges in [&["bytes=0-1,4-9"][..], &["bytes=0-1", "bytes=4-9"]] {
        let several = ranges.iter().fold(get(), |request, range| request.header("range", *range));
        let refused = ask(&after(4), &mut several.body(()).unwrap()).unwrap_err();
        assert!(refused.reason.contains("several"), "{refused}");
    }
    let unknown = begun(&head(200, &[("content-length", "10")]));
    for (resume, reason) in [(RangeResume::new(), "no head"), (unknown, "entity tag"), (after(10), "only its end")] {
        let mut request = get().body(()).unwrap();
        let refused = ask(&resume, &mut request).unwrap_err();
        assert!(refused.reason.contains(reason) && request.headers().is_empty(), "{refused}");
    }
}

#[test]
fn trailers_are_handed_out_once_and_end_it() {
    let trailers = || Frame::trailers(HeaderMap::new());
    for handed_out in [4, 10] {
        let mut resume = after(handed_out);
        hand_out(&mut resume, &trailers()).unwrap();
        assert!(ask(&resume, &mut Request::new(())).unwrap_err().reason.contains("only its end"));
        for frame in [trailers(), data(1)] {
            assert!(hand_out(&mut resume, &frame).unwrap_err().reason.contains("after the trailers"));
        }
    }
}

#[test]
fn more_bytes_than_there_are_are_not_handed_out() {
    let mut resume = after(4);
    assert!(hand_out(&mut resume, &data(7)).unwrap_err().reason.contains("more bytes"));
    hand_out(&mut resume, &data(6)).unwrap();
    hand_out(&mut resume, &data(1)).unwrap_err();
}

#[test]
fn a_body_of_which_nothing_is_known_is_handed_out_all_the_same() {
    let mut resume = begun(&head(200, &[]));
    for frame in [data(4), Frame::trailers(HeaderMap::new())] {
        hand_out(&mut resume, &frame).unwrap();
    }
}

#[test]
fn a_new_first_head_forgets_the_old_one() {
    let mut resume = after(4);
    Resume::<Request<()>, Parts, Frame<Bytes>>::begin(
        &mut resume,
        &head(200, &[("etag", "\"8\""), ("content-length", "3")]),
    );
    let mut request = Request::new(());
    ask(&resume, &mut request).unwrap();
    assert_eq!(
        (&request.headers()["range"], &request.headers()["if-range"]),
        (&"bytes=0-2".parse().unwrap(), &"\"8\"".parse().unwrap())
    );
}

/// What a range asks of so many bytes (RFC 9110 §14.1.2), or `None` where it is not satisfiable.
fn satisfied(range: &str, total: u64) -> Option<Range<u64>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) => first..total.min(last + 1),
        (Ok(first), Err(_)) => first..total,
        (Err(_), Ok(suffix)) => total.saturating_sub(suffix)..total,
        (Err(_), Err(_)) => return None,
    };
    (!range.is_empty()).then_some(range)
}

/// A server of so many bytes: the head, and which of them it sends.
fn serve(request: &Request<()>, total: u64) -> (Parts, Range<u64>) {
    let condition = request.headers().get(header::IF_RANGE).is_none_or(|tag| tag == TAG);
    let range = request.headers().get(header::RANGE).filter(|_| condition);
    match range.map(|range| satisfied(range.to_str().expect("text"), total)) {
        None => (head(200, &[("etag", TAG), ("content-length", &total.to_string())]), 0..total),
        Some(None) => (head(416, &[("content-range", &format!("bytes */{total}"))]), 0..0),
        Some(Some(bytes)) => {
            let range = format!("bytes {}-{}/{total}", bytes.start, bytes.end - 1);
            let length = (bytes.end - bytes.start).to_string();
            (head(206, &[("etag", TAG), ("content-length", &length), ("content-range", &range)]), bytes)
        }
    }
}

fn ranges() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u64..60, 0_u64..60).prop_map(|(first, more)| format!("bytes={first}-{}", first + more)),
        (0_u64..60).prop_map(|first| format!("bytes={first}-")),
        (1_u64..60).prop_map(|suffix| format!("bytes=-{suffix}")),
    ]
}

proptest! {
    /// However often it is cut, and whatever range the caller asked for: what is handed out is what was asked for, each byte once and in order.
    #[test]
    fn a_body_is_put_together_without_a_gap_or_a_repeat(
        total in 1_u64..50,
        range in option::of(ranges()),
        cuts in vec(1_u64..10, 0..12),
    ) {
        let mut call = Request::new(());
        if let Some(range) = &range {
            call.headers_mut().insert(header::RANGE, range.parse().unwrap());
        }
        let (first, wanted) = serve(&call, total);
        prop_assume!(first.status.is_success());
        let mut resume = begun(&first);
        let (mut handed_out, mut rest) = (Vec::new(), wanted.clone());
        for cut in cuts {
            let part = rest.start..rest.end.min(rest.start + cut);
            hand_out(&mut resume, &data((part.end - part.start) as usize)).unwrap();
            handed_out.extend(part);
            let mut again = call.clone();
            if handed_out.len() as u64 == wanted.end - wanted.start {
                prop_assert!(ask(&resume, &mut again).is_err());
                break;
            }
            ask(&resume, &mut again).unwrap();
            let (head, bytes) = serve(&again, total);
            accept(&mut resume, &head).unwrap();
            rest = bytes;
        }
        if (handed_out.len() as u64) < wanted.end - wanted.start {
            handed_out.extend(rest);
        }
        prop_assert_eq!(handed_out, Vec::from_iter(wanted));
    }

    /// Whatever a server answers in the place of the rest, only the rest is accepted.
    #[test]
    fn nothing_but_the_rest_is_accepted(
        handed_out in 1_u64..10,
        status in prop_oneof![4 => Just(206_u16), 1 => Just(200), 1 => Just(416)],
        tag in prop_oneof![4 => Just(TAG), 1 => Just("\"8\""), 1 => Just("W/\"7\"")],
        (first, last, total, length) in (askew(), askew(), askew(), askew()),
    ) {
        let range = format!("bytes {}-{}/{}", handed_out + first - 1, 9 + last - 1, 10 + total - 1);
        let length = (10 - handed_out + length - 1).to_string();
        let answer = head(status, &[("etag", tag), ("content-length", &length), ("content-range", &range)]);
        let is_the_rest = (status, tag, first, last, total) == (206, TAG, 1, 1, 1) && length == (10 - handed_out).to_string();
        prop_assert_eq!(accept(&mut after(handed_out as usize), &answer).is_ok(), is_the_rest);
    }
}

/// One, or one beside it.
fn askew() -> impl Strategy<Value = u64> {
    prop_oneof![6 => Just(1_u64), 1 => Just(0), 1 => Just(2)]
}
