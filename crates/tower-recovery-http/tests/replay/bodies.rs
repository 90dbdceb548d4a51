//! What copies yield, frame by frame.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::FutureExt;
use http::HeaderMap;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full};
use tower::BoxError;
use tower_recovery_http::{RepeatableBody, ReplayError, ReplayableBody, SentOnce};

use crate::source::{Broken, Item, Script, Source, of_parts};

/// The next data frame, as text.
fn next(body: &mut (impl Body<Data = Bytes, Error = BoxError> + Unpin)) -> String {
    let frame = body.frame().now_or_never().expect("ready").expect("a frame").expect("no error");
    String::from_utf8(frame.into_data().expect("data").to_vec()).expect("text")
}

fn rest(body: impl Body<Data = Bytes, Error = BoxError>) -> Result<Bytes, BoxError> {
    body.collect().now_or_never().expect("ready").map(|collected| collected.to_bytes())
}

fn refusal(body: &mut (impl Body<Data = Bytes, Error = BoxError> + Unpin)) -> ReplayError {
    let error = body.frame().now_or_never().expect("ready").expect("not the end").expect_err("an error");
    *error.downcast_ref().expect("of the copy's own")
}

#[test]
fn bodies_in_memory_are_copied_whole() {
    let full = Full::new(Bytes::from_static(b"a body"));
    assert_eq!(full.try_copy().unwrap().into_inner().unwrap(), "a body");
    assert!(Empty::<Bytes>::new().try_copy().unwrap().is_end_stream());
    assert_eq!(String::from("a body").try_copy().unwrap(), "a body");
    assert!(full.is_repeatable());
}

#[test]
fn what_is_sent_once_has_no_copy_and_is_otherwise_the_body_in_it() {
    let once = SentOnce::new(Full::new(Bytes::from_static(b"a body")));
    assert!(once.try_copy().is_none());
    assert_eq!((once.size_hint().exact(), once.is_end_stream()), (Some(6), false));
    assert_eq!(once.collect().now_or_never().unwrap().unwrap().to_bytes(), "a body");
    assert_eq!(SentOnce::new(7).into_inner(), 7);
}

#[test]
fn bytes_are_replayable_until_they_are_sent_and_their_copies_after_that() {
    for body in [ReplayableBody::from("a body"), String::from("a body").into(), b"a body".to_vec().into()] {
        let mut body: ReplayableBody = body;
        let copy = body.try_copy().unwrap();
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(6), false));
        assert_eq!(next(&mut body), "a body");
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
        assert!(!body.is_repeatable() && body.try_copy().is_none(), "an empty copy would pass for the whole");
        assert!(copy.is_repeatable());
        assert_eq!(rest(copy).unwrap(), "a body");
        assert!(body.frame().now_or_never().unwrap().is_none());
    }
    let mut empty = ReplayableBody::<Empty<Bytes>>::default();
    assert!(empty.is_end_stream() && empty.frame().now_or_never().unwrap().is_none());
    assert!(empty.is_repeatable() && empty.try_copy().is_some(), "nothing was lost of nothing");
    assert_eq!(rest(ReplayableBody::<Empty<Bytes>>::from(Full::from("a body"))).unwrap(), "a body");
}

#[test]
fn copies_at_any_point_yield_the_whole_with_its_size() {
    for read in 0..=3 {
        let mut first = ReplayableBody::new(of_parts(&["one ", "two ", "three"]), 100);
        let mut second = first.try_copy().unwrap();
        for part in ["one ", "two ", "three"].iter().take(read) {
            assert_eq!(next(&mut first), *part);
        }
        let third = second.try_copy().unwrap();
        assert_eq!(second.size_hint().exact(), Some(13));
        assert_eq!(next(&mut second), "one ");
        assert_eq!(second.size_hint().exact(), Some(9));
        assert_eq!(third.size_hint().exact(), Some(13));
        assert_eq!(refusal(&mut first), ReplayError::TakenOver);
        drop((first, second));
        assert!(third.is_repeatable());
        assert_eq!(rest(third).unwrap(), "one two three");
    }
}

#[test]
fn a_copy_is_framed_as_the_first_was_although_its_size_is_known_by_then() {
    let trailers = HeaderMap::from_iter([("checksum".parse().unwrap(), "7".parse().unwrap())]);
    let frames = vec![Ok(Frame::data("a body".into())), Ok(Frame::trailers(trailers.clone()))];
    let first = ReplayableBody::new(Source::new(frames.into_iter()), 100);
    let second = first.try_copy().unwrap();
    let third = second.try_copy().unwrap();
    for body in [first, second, third] {
        assert_eq!(body.size_hint().exact(), None);
        let collected = body.collect().now_or_never().unwrap().unwrap();
        assert_eq!(collected.trailers(), Some(&trailers));
        assert_eq!(collected.to_bytes(), "a body");
    }
}

#[test]
fn a_first_frame_over_the_limit_is_sent_and_cannot_be_sent_again() {
    let mut first = ReplayableBody::new(of_parts(&["much too long", "!"]), 4);
    let mut second = first.try_copy().unwrap();
    assert!(second.is_repeatable());
    assert_eq!(next(&mut first), "much too long");
    assert!(!second.is_repeatable() && second.try_copy().is_none() && first.try_copy().is_none());
    assert_eq!((second.size_hint().exact(), second.is_end_stream()), (None, false));
    assert_eq!(refusal(&mut second), ReplayError::NotReplayable { limit: 4 });
    assert_eq!(next(&mut first), "!", "the body that is being sent goes on unharmed");
    assert!(rest(first).unwrap().is_empty());
    assert_eq!(refusal(&mut second), ReplayError::NotReplayable { limit: 4 });
}

#[test]
fn an_error_of_the_source_comes_out_as_it_is_and_nothing_can_be_sent_after_it() {
    let frames = vec![Ok(Frame::data("a part".into())), Err(Broken)];
    let mut first = ReplayableBody::new(Source::new(frames.into_iter()), 100);
    let mut second = first.try_copy().unwrap();
    assert_eq!(next(&mut first), "a part");
    let error = first.frame().now_or_never().unwrap().unwrap().unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&Broken));
    assert!(!second.is_repeatable() && second.try_copy().is_none());
    assert_eq!([refusal(&mut first), refusal(&mut second)], [ReplayError::SourceFailed; 2]);
}

struct Panicking;

impl Script for Panicking {
    fn next(&mut self, _: &Waker) -> Poll<Item> {
        panic!("a bug in the source")
    }
}

#[test]
fn a_panic_of_the_source_is_told_to_the_other_copies() {
    let mut first = ReplayableBody::new(Source::new(Panicking), 100);
    let mut second = first.try_copy().unwrap();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| first.frame().now_or_never())).unwrap_err();
    assert!(!second.is_repeatable());
    assert_eq!([refusal(&mut first), refusal(&mut second)], [ReplayError::SourcePanicked; 2]);
}

/// Bytes whose owner counts how many of them there are.
pub(crate) struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl Counted {
    pub(crate) fn frame(bytes: Vec<u8>, held: &Arc<AtomicUsize>) -> Frame<Bytes> {
        held.fetch_add(bytes.len(), Ordering::Relaxed);
        Frame::data(Bytes::from_owner(Self(bytes, Arc::clone(held))))
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(self.0.len(), Ordering::Relaxed);
    }
}

struct Endless(Arc<AtomicUsize>);

impl Script for Endless {
    fn next(&mut self, _: &Waker) -> Poll<Item> {
        Poll::Ready(Some(Ok(Counted::frame(vec![7; 10], &self.0))))
    }
}

#[test]
fn only_what_another_copy_may_need_is_kept_and_never_more_than_the_limit() {
    let held = Arc::new(AtomicUsize::new(0));
    let held_now = || held.load(Ordering::Relaxed);
    let mut context = Context::from_waker(Waker::noop());
    let mut take = |body: &mut ReplayableBody<_>| {
        assert!(matches!(Pin::new(body).poll_frame(&mut context), Poll::Ready(Some(Ok(_)))));
    };

    let mut first = ReplayableBody::new(Source::new(Endless(Arc::clone(&held))), 35);
    let mut second = first.try_copy().unwrap();
    for kept in [10, 20, 30] {
        take(&mut first);
        assert_eq!(held_now(), kept);
    }
    drop(first);
    assert_eq!(held_now(), 30);
    for left in [20, 10, 0, 0, 0] {
        take(&mut second);
        assert_eq!(held_now(), left, "the last copy lets go of what it has replayed, and keeps nothing new");
    }
    assert!(second.try_copy().is_none());

    let mut first = ReplayableBody::new(Source::new(Endless(Arc::clone(&held))), 35);
    let second = first.try_copy().unwrap();
    take(&mut first);
    drop(second);
    assert_eq!(held_now(), 0, "nobody else needs it");

    let mut first = ReplayableBody::new(Source::new(Endless(Arc::clone(&held))), 35);
    let second = first.try_copy().unwrap();
    for kept in [10, 20, 30, 0, 0] {
        take(&mut first);
        assert_eq!(held_now(), kept, "over the limit nothing is kept");
    }
    assert!(!second.is_repeatable());
}

#[test]
fn a_boxed_stream_of_any_data_comes_as_bytes() {
    let data = std::collections::VecDeque::from(b"a body".to_vec());
    let body = ReplayableBody::boxed(Full::new(data), 100);
    let copy = body.try_copy().unwrap();
    for body in [body, copy] {
        assert_eq!(body.size_hint().exact(), Some(6));
        assert_eq!(rest(body).unwrap(), "a body");
    }
}
