//! Law 12 for a stream that is alive and says nothing.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use allocation_counter::measure;
use bytes::Bytes;
use futures_util::Stream;
use tower_recovery_http::sse::{SseDecoder, SseItem};

use crate::source::body;

#[test]
fn a_sign_of_life_allocates_nothing() {
    for (chunk, sign) in [
        (&b": ping\n\n"[..], SseItem::KeepAlive),
        (b"\n", SseItem::KeepAlive),
        (b": a part of a comment", SseItem::KeepAlive),
    ] {
        let mut decoder = SseDecoder::new(body(vec![Bytes::from_static(chunk); 1_000]));
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = || Pin::new(&mut decoder).poll_next(&mut context);
        assert!(matches!(poll(), Poll::Ready(Some(Ok(item))) if item == sign));
        let allocated = measure(|| {
            for _ in 1..1_000 {
                assert!(matches!(poll(), Poll::Ready(Some(Ok(item))) if item == sign));
            }
        });
        assert_eq!(allocated.count_total, 0, "{chunk:?}");
    }
}

#[test]
fn progress_allocates_no_more_than_the_event_grows() {
    let mut decoder = SseDecoder::new(body(vec![Bytes::from_static(b"data: 0123\n"); 1_000]));
    let longer_than_a_ping = (4 << 10) / b"data: 0123\n".len();
    let mut context = Context::from_waker(Waker::noop());
    let allocated = measure(|| {
        for number in 0..1_000 {
            let polled = Pin::new(&mut decoder).poll_next(&mut context);
            let sign = if number < longer_than_a_ping { SseItem::KeepAlive } else { SseItem::Progress };
            assert!(matches!(polled, Poll::Ready(Some(Ok(item))) if item == sign));
        }
    });
    assert!(allocated.count_total < 20, "{allocated:?}");
}
