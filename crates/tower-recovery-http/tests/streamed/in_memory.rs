//! The layer over handles without a socket: what it keeps, and what it costs.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{Dispatch, HandleCache, ReresolveLayer, Resolved, reresolve::Reresolve};
use tower_recovery_http::{EndedEarly, HttpClassifier, StreamedLayer, Unterminated, streamed::Streamed};

/// A body of so many parts, and what comes after them.
struct Parts {
    left: u32,
    then: Then,
    counts: Arc<Counts>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    MarkedEnd,
    BareEnd,
    Reset,
}

#[derive(Default)]
struct Counts {
    resolved: AtomicUsize,
    polled: AtomicUsize,
    dropped: AtomicUsize,
}

impl Body for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.counts.polled.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(match (self.left, self.then) {
            (0, Then::Reset) => Some(Err(io::ErrorKind::ConnectionReset.into())),
            (0, _) => None,
            _ => {
                self.left -= 1;
                Some(Ok(Frame::data(Bytes::from_static(b"part"))))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.then == Then::MarkedEnd && self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(4 * u64::from(self.left))
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers with such a body.
#[derive(Clone)]
struct Handle {
    parts: u32,
    then: Then,
    promised: Option<u64>,
    counts: Arc<Counts>,
}

impl Service<Request<()>> for Handle {
    type Response = Response<Parts>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Parts>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let body = Parts { left: self.parts, then: self.then, counts: Arc::clone(&self.counts) };
        let mut response = Response::new(body);
        if let Some(promised) = self.promised {
            response.headers_mut().insert(header::CONTENT_LENGTH, promised.into());
        }
        ready(Ok(response))
    }
}

type Stack = Reresolve<Streamed<Dispatch>, Handle>;

fn stack(parts: u32, then: Then, layer: StreamedLayer) -> (Stack, Arc<Counts>) {
    promising(None, parts, then, layer)
}

fn promising(promised: Option<u64>, parts: u32, then: Then, layer: StreamedLayer) -> (Stack, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let handle = Handle { parts, then, promised, counts: Arc::clone(&counts) };
    let resolver = service_fn(move |()| {
        handle.counts.resolved.fetch_add(1, Ordering::Relaxed);
        ready(Ok::<_, Infallible>(Resolved::new("one", handle.clone())))
    });
    let resolving = ReresolveLayer::new(HandleCache::new(resolver, ()));
    (ServiceBuilder::new().layer(resolving).layer(layer).service(Dispatch), counts)
}

fn strict() -> StreamedLayer {
    StreamedLayer::new(HttpClassifier::new())
}

#[tokio::test(start_paused = true)]
async fn after_its_end_or_its_error_a_body_is_dropped_and_not_asked_again() {
    for (then, evicted) in [(Then::MarkedEnd, 0), (Then::BareEnd, 0), (Then::Reset, 1)] {
        let (stack, counts) = stack(1, then, strict());
        let mut body = stack.clone().oneshot(Request::new(())).await.unwrap().into_body();
        assert_eq!((body.is_end_stream(), body.size_hint().exact()), (false, Some(4)), "{then:?}");
        assert!(body.frame().await.unwrap().is_ok());
        assert_eq!(body.is_end_stream(), then == Then::MarkedEnd, "an error to come is to be polled for");
        assert_eq!(counts.dropped.load(Ordering::Relaxed), 0, "{then:?}");

        let end = body.frame().await.transpose();
        assert_eq!(end.as_ref().is_ok_and(Option::is_none), then == Then::MarkedEnd, "{then:?}");
        let unproven = end.err().is_some_and(|failure| failure.find::<Unterminated>().is_some());
        assert_eq!(unproven, then == Then::BareEnd);
        for _ in 0..3 {
            assert!(body.is_end_stream() && body.frame().await.is_none(), "{then:?}");
        }
        assert_eq!(body.size_hint().exact(), Some(0));
        assert_eq!((counts.polled.load(Ordering::Relaxed), counts.dropped.load(Ordering::Relaxed)), (2, 1), "{then:?}");

        stack.oneshot(Request::new(())).await.unwrap();
        assert_eq!(counts.resolved.load(Ordering::Relaxed), 1 + evicted, "{then:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_says_that_it_is_at_its_end_is_not_believed_below_the_length_of_its_head() {
    let (stack, _) = promising(Some(5), 1, Then::MarkedEnd, strict().trust_clean_ends());
    let mut body = stack.oneshot(Request::new(())).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok() && !body.is_end_stream());
    let failure = body.frame().await.unwrap().unwrap_err();
    assert_eq!(failure.find::<EndedEarly>().map(|early| (early.received, early.promised)), Some((4, 5)));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_trusted_is_one() {
    for layer in [strict().trust_close_delimited(), strict().trust_clean_ends().trust_close_delimited()] {
        let (stack, _) = stack(2, Then::BareEnd, layer);
        let body = stack.oneshot(Request::new(())).await.unwrap().into_body();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "partpart");
    }
}

/// Law 12.
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_break_costs_no_allocation() {
    let (mut stack, counts) = stack(1000, Then::MarkedEnd, strict());
    let mut read_one = || {
        let mut context = Context::from_waker(Waker::noop());
        assert!(stack.poll_ready(&mut context).is_ready());
        let Poll::Ready(Ok(response)) = pin!(stack.call(Request::new(()))).poll(&mut context) else {
            return 0;
        };
        let mut body = pin!(response.into_body());
        let mut frames = 0;
        while let Poll::Ready(Some(Ok(_))) = body.as_mut().poll_frame(&mut context) {
            frames += 1;
        }
        frames
    };
    while read_one() == 0 {
        tokio::task::yield_now().await;
    }
    // Now the stack has its own copy of the handle.
    let mut frames = read_one();
    let allocations = measure(|| frames = read_one());
    assert_eq!((frames, allocations.count_total), (1000, 0));
    assert_eq!(counts.resolved.load(Ordering::Relaxed), 1);
}
