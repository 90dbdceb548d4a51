//! The deadline of the call spans attempts, look-ups and pauses.

use tokio::time::{Duration, Instant, advance};
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    CallTiming, ClassifyLayer, DeadlineExceeded, Delivery, Failure, LinearBackoff, ReadOnlyRetryLayer, Verdict,
};
use tower_recovery_test::{Gate, ReadyStep, ScriptedReadiness, ScriptedResolver, Step};

use super::{
    retrying,
    support::{
        Call, Fault, Protocol, Reply, backend, cache, done, fails, millis, poll_woken, recovering, resolved, resolver,
        rules,
    },
};

const DEADLINE: Duration = Duration::from_millis(1000);

fn within(deadline: Duration, attempts: u32) -> CallTiming {
    CallTiming::builder().deadline(deadline).attempts(attempts).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_attempt_in_flight_is_cut_off_and_may_have_been_sent() {
    let backend = backend([Step::hang()]);
    let mut call = task::spawn(retrying(backend.clone(), within(DEADLINE, 3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(DEADLINE - millis(1)).await;
    assert!(!call.is_woken(), "just before the deadline nothing happens");
    advance(millis(1)).await;
    let failure = assert_ready_err!(poll_woken(&mut call));

    assert_eq!(failure.verdict(), Verdict::maybe_sent(), "a deadline indicts no handle");
    assert_eq!((failure.attempts(), failure.is_exhausted()), (1, true));
    let cause: &DeadlineExceeded = failure.find().unwrap();
    assert!(cause.deadline == DEADLINE && cause.last.is_none());
    drop(call);
    assert_eq!((backend.calls(), backend.in_flight()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_further_attempt_is_cut_off_with_the_last_cause_behind_it() {
    let backend = backend([fails(Fault::NotWritten), Step::hang()]);
    let started = Instant::now();
    let failure = retrying(backend, within(DEADLINE, 3)).oneshot(Call::write()).await.unwrap_err();

    assert_eq!((failure.delivery(), started.elapsed()), (Some(Delivery::MaybeSent), DEADLINE));
    assert_eq!((failure.attempts(), failure.is_exhausted()), (2, true));
    let last = failure.find::<DeadlineExceeded>().unwrap().last.as_ref().unwrap();
    assert_eq!(last.verdict(), Fault::NotWritten.verdict());
    assert_eq!(failure.find(), Some(&Fault::NotWritten));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_at_the_deadline_is_taken() {
    let mut call =
        task::spawn(retrying(backend([done("a").delayed(DEADLINE)]), within(DEADLINE, 3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(DEADLINE).await;
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_from_the_call_and_not_from_its_first_poll() {
    let mut stack = retrying(backend([Step::hang()]), within(DEADLINE, 3));
    let mut call = task::spawn(stack.ready().await.unwrap().call(Call::write()));
    advance(millis(400)).await;
    assert_pending!(call.poll());
    advance(DEADLINE - millis(401)).await;
    assert!(!call.is_woken());
    advance(millis(1)).await;
    assert_ready_err!(poll_woken(&mut call));
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_would_run_past_the_deadline_is_not_begun() {
    let started = Instant::now();
    let backend = backend([fails(Fault::NotWritten).delayed(millis(960)), done("a")]);
    let failure = retrying(backend.clone(), within(DEADLINE, 3)).oneshot(Call::write()).await.unwrap_err();

    // The shortest pause is 50 ms, and there are 40 left.
    assert_eq!((started.elapsed(), backend.calls()), (millis(960), 1));
    assert_eq!((failure.verdict(), failure.find()), (Fault::NotWritten.verdict(), Some(&Fault::NotWritten)));
    assert!(failure.is_exhausted() && failure.find::<DeadlineExceeded>().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_would_end_with_the_deadline_is_not_begun() {
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let stack = ServiceBuilder::new()
        .layer(
            ReadOnlyRetryLayer::new(rules())
                .timing(within(DEADLINE, 3))
                .backoff(LinearBackoff::new(2 * DEADLINE, 2 * DEADLINE)),
        )
        .layer(ClassifyLayer::new(Protocol))
        .service(backend.clone());
    let started = Instant::now();
    stack.oneshot(Call::write()).await.unwrap_err();
    assert_eq!((started.elapsed(), backend.calls()), (Duration::ZERO, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_the_response_that_it_is_where_the_deadline_leaves_no_time() {
    let backend = backend([Step::answer(Reply::NotHere).delayed(millis(960))]);
    let reply = retrying(backend.clone(), within(DEADLINE, 3)).oneshot(Call::write()).await.unwrap();
    assert_eq!((reply, backend.calls()), (Reply::NotHere, 1));
}

#[tokio::test(start_paused = true)]
async fn a_look_up_is_left_at_the_deadline_with_the_last_cause() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([fails(Fault::ConnectionRefused)])), Step::hang()]);
    let mut call = task::spawn(recovering(cache(&resolver), within(DEADLINE, 3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    // Whoever drives a resolve, here the first one, is woken by its end with all the others, once for nothing.
    assert_pending!(call.poll());
    advance(DEADLINE - millis(1)).await;
    assert!(!call.is_woken());
    advance(millis(1)).await;
    let failure = assert_ready_err!(poll_woken(&mut call));
    assert_eq!(failure.verdict(), Fault::ConnectionRefused.verdict());
    assert!(failure.is_exhausted());
    drop(call);
    assert_eq!(resolver.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_readiness_is_left_at_the_deadline_with_the_last_cause() {
    let backend = backend([fails(Fault::NotWritten)]);
    let slow = ScriptedReadiness::new(backend.clone(), [ReadyStep::Ready, ReadyStep::Until(Gate::new())]);
    let started = Instant::now();
    let failure = retrying(slow, within(DEADLINE, 3)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((started.elapsed(), failure.verdict()), (DEADLINE, Fault::NotWritten.verdict()));
    assert_eq!((failure.attempts(), backend.calls()), (1, 1));
}

/// The call is polled late, as it is on a loaded runtime: the deadline has passed, and something else is ready too.
#[track_caller]
fn polled_late<Late: Future<Output = Result<Reply, Failure>>>(call: &mut task::Spawn<Late>) -> Failure {
    match poll_woken(call) {
        std::task::Poll::Ready(Err(failure)) => failure,
        other => panic!("nothing may start after the deadline, but this call came to {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_starts_after_the_deadline_when_a_pause_is_noticed_late() {
    let backend = backend([fails(Fault::NotWritten), done("too late")]);
    let mut call = task::spawn(retrying(backend.clone(), within(DEADLINE, 3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(DEADLINE + millis(1)).await;
    assert_eq!(polled_late(&mut call).verdict(), Fault::NotWritten.verdict());
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_attempt_starts_after_the_deadline_when_a_failure_is_noticed_late() {
    let gate = Gate::new();
    let old = backend([fails(Fault::ConnectionRefused).behind(&gate)]);
    let new = backend([done("too late")]);
    let resolver = resolver([("a", old), ("b", new.clone())]);
    let mut call = task::spawn(recovering(cache(&resolver), within(DEADLINE, 3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    gate.open();
    advance(DEADLINE + millis(1)).await;
    assert_eq!(polled_late(&mut call).verdict(), Fault::ConnectionRefused.verdict());
    assert_eq!(new.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_attempt_starts_after_the_deadline_when_readiness_is_noticed_late() {
    let gate = Gate::new();
    let backend = backend([fails(Fault::NotWritten), done("too late")]);
    let slow = ScriptedReadiness::new(backend.clone(), [ReadyStep::Ready, ReadyStep::Until(gate.clone())]);
    let mut call = task::spawn(retrying(slow, within(DEADLINE, 3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(millis(100)).await;
    assert_pending!(poll_woken(&mut call));
    gate.open();
    advance(DEADLINE).await;
    assert_eq!(polled_late(&mut call).verdict(), Fault::NotWritten.verdict());
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_longer_than_any_clock_bounds_nothing() {
    let timing = within(Duration::MAX, 3);
    let stack = retrying(backend([fails(Fault::NotWritten), done("a")]), timing);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}
