//! Law 12 for the body of most requests: bytes, sent once, with a copy kept.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use allocation_counter::measure;
use bytes::Bytes;
use http_body::Body;
use tower_recovery_http::{RepeatableBody, ReplayableBody};

use crate::source::of_parts;

fn send(mut body: impl Body<Data = Bytes> + Unpin) -> usize {
    let mut context = Context::from_waker(Waker::noop());
    let mut sent = 0;
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
        sent += frame.into_data().map_or(0, |data| data.len());
    }
    sent
}

#[test]
fn bytes_are_copied_and_sent_without_an_allocation() {
    // Bytes that came from a `Vec` make their reference count at the first clone: their own doing, and once only.
    let owned = Bytes::from(vec![7; 1000]);
    let _counted = owned.clone();
    for data in [Bytes::from_static(b"a body"), owned] {
        let allocated = measure(|| {
            let body: ReplayableBody = data.clone().into();
            let kept = body.try_copy().expect("bytes can be copied");
            assert!(kept.is_repeatable());
            assert_eq!(kept.size_hint().exact(), Some(data.len() as u64));
            assert_eq!(send(body), data.len());
            drop(kept);
        });
        assert_eq!(allocated.count_total, 0);
    }
}

#[test]
fn a_stream_that_nobody_else_waits_for_allocates_nothing_a_frame() {
    let allocated_for = |frames: usize| {
        let source = of_parts(&vec!["part"; frames]);
        measure(move || assert_eq!(send(ReplayableBody::new(source, 1 << 20)), 4 * frames)).count_total
    };
    assert_eq!(allocated_for(1000), allocated_for(1));
}
