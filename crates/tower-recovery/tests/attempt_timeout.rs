//! `AttemptTimeoutLayer`: the end of an attempt, and what it proves.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{BoxError, Service, ServiceExt, limit::ConcurrencyLimit};
use tower_recovery::{
    Addressed, AttemptTimedOut, Dispatch, Failure, NotReady, Verdict, attempt_timeout::AttemptTimeout,
};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, Step};

use self::support::{
    Call, Fault, HandedOver, Reply, backend, cache, contract, done, fails, millis, poll_woken, resolver,
};

const LIMIT: Duration = Duration::from_millis(300);

/// Over the leaf of every stack, which readies the handle within the attempt.
async fn attempt<Handle>(handle: Handle, request: Call) -> task::Spawn<impl Future<Output = Result<Reply, BoxError>>>
where
    Handle: Service<Call, Response = Reply, Error = BoxError> + Clone + Send + 'static,
{
    let held = cache(&resolver([("a", handle)])).acquire().await.unwrap();
    let addressed = Addressed { handle: held.handle, lease: held.lease, request };
    task::spawn(AttemptTimeout::new(Dispatch, LIMIT).call(addressed))
}

fn timed_out(error: BoxError) -> (Failure, AttemptTimedOut) {
    let failure = Failure::recover(error);
    let cause = *failure.cause().unwrap().downcast_ref::<AttemptTimedOut>().unwrap();
    assert_eq!(cause.limit, LIMIT);
    (failure, cause)
}

#[tokio::test(start_paused = true)]
async fn request_answer_and_error_pass_untouched() {
    let handle = backend([done("a"), fails(Fault::Lost)]);
    let call = Call::counted_read().with_key(7);

    assert_eq!(attempt(handle.clone(), call.clone()).await.await.unwrap(), Reply::Done("a"));
    let error = attempt(handle.clone(), call.clone()).await.await.unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&Fault::Lost));
    assert_eq!(handle.requests(), [call.clone(), call]);
}

#[test]
fn an_attempt_that_ends_at_once_needs_no_timer() {
    // There is no runtime here, so arming one would panic.
    let mut bounded = AttemptTimeout::new(HandedOver(backend([done("a")])), LIMIT);
    assert_eq!(bounded.call(Call::write()).now_or_never().unwrap().unwrap(), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_handed_over_may_have_been_sent() {
    let handle = backend([Step::hang()]);
    let mut attempt = attempt(handle.clone(), Call::write()).await;

    assert_pending!(attempt.poll());
    advance(LIMIT - millis(1)).await;
    assert!(!attempt.is_woken(), "just before the limit nothing happens");
    assert_pending!(attempt.poll());
    advance(millis(1)).await;
    let (failure, cause) = timed_out(assert_ready_err!(poll_woken(&mut attempt)));

    assert_eq!(failure.verdict(), Verdict::maybe_sent().stale());
    assert!(cause.handed_over);
    assert_eq!(failure.take_unsent::<Call>(), None);
    drop(attempt);
    assert_eq!((handle.in_flight(), handle.dropped()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_handle_was_not_ready_was_never_sent_and_comes_back() {
    let scripted = backend([done("a")]);
    let handle = ScriptedReadiness::new(scripted.clone(), [ReadyStep::Until(Gate::new())]);
    let mut attempt = attempt(handle, Call::write().with_key(7)).await;

    assert_pending!(attempt.poll());
    advance(LIMIT - millis(1)).await;
    assert_pending!(attempt.poll());
    advance(millis(1)).await;
    let (failure, cause) = timed_out(assert_ready_err!(poll_woken(&mut attempt)));

    assert_eq!(failure.verdict(), Verdict::never_sent().stale());
    assert!(!cause.handed_over);
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(7)));
    assert_eq!(scripted.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn readying_and_calling_share_one_limit() {
    let gate = Gate::new();
    let handle = ScriptedReadiness::new(backend([Step::hang()]), [ReadyStep::Until(gate.clone())]);
    let mut attempt = attempt(handle, Call::write()).await;

    assert_pending!(attempt.poll());
    advance(LIMIT - millis(1)).await;
    gate.open();
    assert_pending!(poll_woken(&mut attempt));
    advance(millis(1)).await;
    let (failure, cause) = timed_out(assert_ready_err!(poll_woken(&mut attempt)));
    assert_eq!(failure.verdict(), Verdict::maybe_sent().stale());
    assert!(cause.handed_over);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_at_the_limit_is_taken() {
    let mut attempt = attempt(backend([done("a").delayed(LIMIT)]), Call::write()).await;
    assert_pending!(attempt.poll());
    advance(LIMIT).await;
    assert_eq!(assert_ready_ok!(poll_woken(&mut attempt)), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_becomes_ready_after_the_limit_is_not_called() {
    // The task is polled late, as it is on a loaded runtime: the time is up, and the handle has become ready.
    let gate = Gate::new();
    let scripted = backend([Step::hang()]);
    let handle = ScriptedReadiness::new(scripted.clone(), [ReadyStep::Until(gate.clone())]);
    let mut attempt = attempt(handle, Call::write().with_key(7)).await;

    assert_pending!(attempt.poll());
    advance(LIMIT + millis(1)).await;
    gate.open();
    let (failure, _) = timed_out(assert_ready_err!(poll_woken(&mut attempt)));
    assert_eq!(scripted.calls(), 0, "a write is not sent in the moment in which it is given up");
    assert_eq!(failure.verdict(), Verdict::never_sent().stale());
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_the_limit_for_itself() {
    let mut bounded = AttemptTimeout::new(HandedOver(backend([done("a").delayed(LIMIT - millis(1))])), LIMIT);
    for _ in 0..3 {
        assert_eq!(bounded.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_cannot_be_readied_is_told_apart_from_a_timeout() {
    let handle = ScriptedReadiness::new(backend([]), [ReadyStep::Fail(Fault::Lost.into())]);
    let failure = Failure::recover(attempt(handle, Call::write()).await.await.unwrap_err());
    assert!(failure.cause().unwrap().is::<NotReady>());
    assert!(failure.take_unsent::<Call>().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_attempt_leaves_nothing_behind() {
    for polls in 0..3 {
        let handle = backend([Step::hang()]);
        let mut attempt = attempt(handle.clone(), Call::write()).await;
        for _ in 0..polls {
            assert_pending!(attempt.poll());
        }
        drop(attempt);
        assert_eq!(handle.in_flight(), 0, "after {polls} polls");
    }
}

#[tokio::test]
async fn it_calls_only_what_was_readied() {
    let probe = ReadinessProbe::new(backend([done("a")]));
    let counts = probe.counts();
    let bounded = AttemptTimeout::new(HandedOver(probe), LIMIT);
    contract::it_calls_only_what_was_readied(bounded, &counts).await;
}

#[tokio::test]
async fn a_clone_starts_unready_and_a_dropped_instance_frees_its_slot() {
    let limited = ConcurrencyLimit::new(backend([done("a")]), 1);
    let bounded = AttemptTimeout::new(HandedOver(limited), LIMIT);
    contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(bounded).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_frees_its_slot() {
    let limited = ConcurrencyLimit::new(backend([Step::hang()]), 1);
    contract::a_dropped_call_frees_its_slot(AttemptTimeout::new(HandedOver(limited), LIMIT));
}

#[tokio::test(start_paused = true)]
async fn a_panic_below_takes_down_its_own_call_alone() {
    let handle = backend([Step::panic_in_call(), Step::panic_in_poll(), done("a")]);
    for _ in 0..2 {
        let attempt = attempt(handle.clone(), Call::write()).await;
        assert!(AssertUnwindSafe(attempt).catch_unwind().await.is_err());
    }
    assert_eq!(attempt(handle, Call::write()).await.await.unwrap(), Reply::Done("a"));
}
