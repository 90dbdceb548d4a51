//! What every layer owes, and what a timeout above it may ask.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::{FutureExt, StreamExt};
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, task};
use tower::{BoxError, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit};
use tower_recovery::{Addressed, AttemptTimedOut, AttemptTimeoutLayer, Dispatch, Failure, LeasedStreamLayer, Verdict};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, Step, StreamHandle};

use super::{
    Handle, Leased, Lines, instance, live, over,
    support::{self, Call, Fault, Protocol, cache, millis, poll_woken, resolver},
    two,
};

#[tokio::test(start_paused = true)]
async fn request_items_and_errors_pass_untouched() {
    let ([feed, ..], _, [handle, _], resolver) = two();
    let mut stream = over(&cache(&resolver)).oneshot(Call::counted_read().with_key(7)).await.unwrap();
    for line in ["a", ""] {
        feed.send(line);
        assert_eq!(stream.next().await.unwrap().unwrap(), line);
    }
    feed.end();
    assert!(stream.next().await.is_none());
    assert_eq!(handle.requests(), [Call::counted_read().with_key(7)]);

    let failing = Handle::new([Step::fail(Fault::NoSuchFile)]);
    let failure =
        over(&cache(&support::resolver([("a", failing)]))).oneshot(Call::write()).await.map(drop).unwrap_err();
    assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&Fault::NoSuchFile));
}

#[tokio::test(start_paused = true)]
async fn it_is_fused_and_lets_go_of_the_stream_at_its_end() {
    let ends: [fn(&StreamHandle<&'static str>); 3] =
        [|feed| feed.end(), |feed| feed.fail(Fault::Lost), |feed| feed.fail_for_ever(Fault::Lost)];
    for end in ends {
        let ([feed, ..], _, _, resolver) = two();
        let mut stream = over(&cache(&resolver)).oneshot(Call::write()).await.unwrap();
        end(&feed);
        let mut errors = 0;
        while let Some(item) = stream.next().await {
            errors += usize::from(item.is_err());
        }
        assert!(errors <= 1 && feed.is_dropped());
        assert!(stream.next().await.is_none(), "a scripted stream panics if it is polled after its end");
        assert!(format!("{stream:?}").contains("ended: true"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_from_below_reaches_the_call_and_the_stream() {
    let gate = Gate::new();
    let (feed, lines) = Lines::pair();
    let handle = Handle::new([Step::answer_once(lines).behind(&gate)]);
    let mut call = task::spawn(over(&cache(&resolver([("a", handle)]))).oneshot(Call::write()));
    assert_pending!(call.poll());
    gate.open();
    let mut stream = task::spawn(assert_ready!(poll_woken(&mut call)).unwrap());
    assert_pending!(stream.poll_next());
    assert!(!stream.is_woken());
    feed.send("a");
    assert!(stream.is_woken(), "a wake-up was lost");
    assert_eq!(assert_ready!(stream.poll_next()).unwrap().unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn it_calls_only_what_was_readied_and_frees_what_it_took() {
    let ([first, ..], handle) = instance::<2>();
    let probe = ReadinessProbe::new(ConcurrencyLimit::new(handle, 1));
    let counts = probe.counts();
    let stack = over(&cache(&resolver([("a", probe)])));
    let stream = stack.clone().oneshot(Call::write()).await.unwrap();
    let second = stack.oneshot(Call::write()).now_or_never().expect("the slot is free when the call has ended");
    drop(second.unwrap());
    drop(stream);
    assert!(first.is_dropped());
    assert_eq!((counts.called(), counts.called_unready(), counts.ready_now()), (2, 0, 0));
}

/// A layer between it and its leaf has a readiness of its own.
#[tokio::test(start_paused = true)]
async fn its_readiness_is_that_of_the_inner_service() {
    type Request = Addressed<Handle, Call>;
    let never = ScriptedReadiness::new(Dispatch, [ReadyStep::<BoxError>::Until(Gate::new())]);
    let mut waiting = ServiceBuilder::new().layer(LeasedStreamLayer::new(Protocol)).service(never);
    assert!(ServiceExt::<Request>::ready(&mut waiting).now_or_never().is_none());
    let broken = ScriptedReadiness::new(Dispatch, [ReadyStep::Fail(BoxError::from(Fault::Lost))]);
    let mut broken = ServiceBuilder::new().layer(LeasedStreamLayer::new(Protocol)).service(broken);
    let error = ServiceExt::<Request>::ready(&mut broken).await.map(drop).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&Fault::Lost));
}

#[tokio::test(start_paused = true)]
async fn a_panic_below_takes_down_its_own_call_alone() {
    let (_, lines) = Lines::pair();
    let handle = Handle::new([Step::panic_in_call(), Step::panic_in_poll(), Step::answer_once(lines)]);
    let cache = cache(&resolver([("a", handle)]));
    let stack = over(&cache);
    for _ in 0..2 {
        let call = stack.clone().oneshot(Call::write());
        assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
    }
    drop(stack.oneshot(Call::write()).await.unwrap());
    assert_eq!(live(&cache), Some(1));
}

/// The leaf below a timeout, on a handle with this readiness.
async fn bounded(
    handle: Handle,
    step: ReadyStep<BoxError>,
) -> task::Spawn<impl Future<Output = Result<Leased, BoxError>>> {
    let held = cache(&resolver([("a", ScriptedReadiness::new(handle, [step]))])).acquire().await.unwrap();
    let addressed = Addressed { handle: held.handle, lease: held.lease, request: Call::write().with_key(7) };
    let leaf = ServiceBuilder::new()
        .layer(AttemptTimeoutLayer::new(LIMIT))
        .layer(LeasedStreamLayer::new(Protocol))
        .service(Dispatch);
    task::spawn(leaf.oneshot(addressed))
}

const LIMIT: Duration = Duration::from_millis(300);

#[tokio::test(start_paused = true)]
async fn a_timeout_above_it_knows_whether_the_request_was_handed_over() {
    for handed_over in [false, true] {
        let handle = Handle::new([Step::hang()]);
        let step = if handed_over { ReadyStep::Ready } else { ReadyStep::Until(Gate::new()) };
        let mut attempt = bounded(handle.clone(), step).await;
        assert_pending!(attempt.poll());
        advance(LIMIT - millis(1)).await;
        assert_pending!(attempt.poll());
        advance(millis(1)).await;
        let failure = Failure::recover(assert_ready!(poll_woken(&mut attempt)).map(drop).unwrap_err());
        assert_eq!(failure.find::<AttemptTimedOut>().unwrap().handed_over, handed_over);
        let verdict = if handed_over { Verdict::maybe_sent() } else { Verdict::never_sent() };
        assert_eq!(failure.verdict(), verdict.stale());
        assert_eq!(failure.take_unsent(), (!handed_over).then(|| Call::write().with_key(7)));
        assert_eq!(handle.calls(), usize::from(handed_over));
    }
}
