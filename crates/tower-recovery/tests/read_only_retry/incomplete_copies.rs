//! Copies that lost their beginning while the first attempt was under way.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{Access, Delivery, Failure, GiveUp, LinearBackoff, ReadOnlyRetryLayer, RequestRules, Verdict};

use super::support::{Fault, millis};

/// A request whose copies are whole for as long as nobody says otherwise.
#[derive(Clone, Default)]
struct Streamed {
    taken: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Rules;

impl RequestRules<Streamed> for Rules {
    type Method = &'static str;

    fn method(&self, _: &Streamed) -> &'static str {
        "read"
    }

    fn access(&self, _: &Streamed, _: &&'static str) -> Access {
        Access::Read
    }

    fn copy(&self, request: &Streamed) -> Option<Streamed> {
        Some(request.clone())
    }

    fn is_whole(&self, copy: &Streamed) -> bool {
        !copy.taken.load(Relaxed)
    }

    fn silence(&self, _: &mut Streamed) {}
}

/// A transport that fails after it has done this to the request.
fn failing(
    verdict: Verdict,
    act: fn(Streamed) -> Option<Streamed>,
) -> (
    Arc<AtomicUsize>,
    impl Service<Streamed, Response = Infallible, Error = BoxError, Future = Ready<Result<Infallible, BoxError>>>
    + Clone
    + Send
    + 'static,
) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let service = service_fn(move |request: Streamed| {
        counted.fetch_add(1, Relaxed);
        let failure = Failure::new(verdict, Fault::Lost);
        ready(Err(match act(request) {
            Some(unsent) => failure.with_unsent(unsent).into(),
            None => failure.into(),
        }))
    });
    (calls, service)
}

fn take(request: Streamed) -> Option<Streamed> {
    request.taken.store(true, Relaxed);
    None
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_not_whole_any_more_is_not_sent_and_the_failure_says_so() {
    for verdict in [Verdict::maybe_sent(), Verdict::refused()] {
        let (calls, transport) = failing(verdict, take);
        let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(Rules)).service(transport);
        let failure = stack.oneshot(Streamed::default()).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.gave_up()), (verdict.delivery(), Some(GiveUp::IncompleteCopy)));
        assert!(!failure.is_exhausted(), "an outer layer may have a copy of its own");
        assert_eq!(calls.load(Relaxed), 1);
    }
}

/// The copy is whole when the attempt fails, and is not any more when the pause is over: it is neither sent nor handed out.
async fn lose_in_the_pause(verdict: Verdict, act: fn(Streamed) -> Option<Streamed>) {
    let (calls, transport) = failing(verdict, act);
    let backoff = LinearBackoff::new(millis(500), millis(500));
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(Rules).backoff(backoff)).service(transport);
    let request = Streamed::default();
    let taken = Arc::clone(&request.taken);
    let mut call = tokio_test::task::spawn(stack.oneshot(request));
    tokio_test::assert_pending!(call.poll());
    taken.store(true, Relaxed);
    tokio::time::advance(millis(500)).await;
    assert!(call.is_woken());
    let failure = tokio_test::assert_ready!(call.poll()).unwrap_err();
    assert_eq!((failure.delivery(), failure.gave_up()), (verdict.delivery(), Some(GiveUp::IncompleteCopy)));
    assert!(failure.take_unsent::<Streamed>().is_none(), "what lost its beginning is nobody's to send");
    assert_eq!(calls.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_lost_during_the_pause_is_not_sent() {
    lose_in_the_pause(Verdict::maybe_sent(), |_| None).await;
}

/// One that was handed back may have been a copy itself, whose source goes on being read elsewhere.
#[tokio::test(start_paused = true)]
async fn a_copy_that_was_handed_back_and_is_lost_during_the_pause_is_not_sent() {
    lose_in_the_pause(Verdict::never_sent(), Some).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_back_may_be_a_copy_that_has_lost_its_beginning() {
    for is_whole in [true, false] {
        let hand_back = |request: Streamed| Some(request);
        let hand_back_lost = |request: Streamed| {
            request.taken.store(true, Relaxed);
            Some(request)
        };
        let (calls, transport) = failing(Verdict::never_sent(), if is_whole { hand_back } else { hand_back_lost });
        let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(Rules)).service(transport);
        let failure = stack.oneshot(Streamed::default()).await.unwrap_err();
        let (reason, attempts) = if is_whole { (GiveUp::Attempts, 3) } else { (GiveUp::IncompleteCopy, 1) };
        assert_eq!((failure.delivery(), failure.gave_up()), (Some(Delivery::NeverSent), Some(reason)));
        assert_eq!((failure.attempts() as usize, calls.load(Relaxed)), (attempts, attempts));
    }
}
