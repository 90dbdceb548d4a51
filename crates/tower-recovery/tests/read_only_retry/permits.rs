//! What a repeat costs: a permit of the budget, bought before its pause and given back if it is not sent.

use std::sync::Arc;

use tokio::time::{Duration, advance};
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    CallTiming, ClassifyLayer, Dispatch, Failure, GiveUp, LinearBackoff, ReadOnlyRetryLayer, ReresolveLayer,
    ShareBudget,
};
use tower_recovery_test::{Gate, ReadyStep, ScriptedReadiness, ScriptedResolver, ScriptedService, Step};

use super::support::{
    Call, Fault, Protocol, Reply, attempts, backend, cache, done, fails, millis, poll_woken, resolved, resolver, rules,
};

/// Permits that nothing adds to but what is given back.
fn permits(number: u32) -> Arc<ShareBudget> {
    Arc::new(ShareBudget::builder().reserve(number).build().unwrap())
}

/// The retry alone, with two attempts: no handle, so no lease, so every repeat pays and waits.
fn retrying<Inner>(
    inner: Inner,
    budget: &Arc<ShareBudget>,
) -> impl Service<Call, Response = Reply, Error = Failure, Future: Send> + Clone + Send + 'static
where
    Inner: Service<Call, Response = Reply, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(attempts(2)).budget(Arc::clone(budget)))
        .layer(ClassifyLayer::new(Protocol))
        .service(inner)
}

/// The retry over handles.
fn recovering(
    resolver: &ScriptedResolver<ScriptedService<Call, Reply>>,
    budget: &Arc<ShareBudget>,
    timing: CallTiming,
) -> impl Service<Call, Response = Reply, Error = Failure, Future: Send> + Clone + Send + 'static {
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(timing).budget(Arc::clone(budget)))
        .layer(ReresolveLayer::new(cache(resolver)))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_permit_ends_with_its_failure_at_once() {
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let mut call = task::spawn(retrying(backend.clone(), &permits(0)).oneshot(Call::write()));
    let std::task::Poll::Ready(Err(failure)) = call.poll() else { panic!("it waits for nothing") };
    assert_eq!((failure.verdict(), failure.find()), (Fault::NotWritten.verdict(), Some(&Fault::NotWritten)));
    assert_eq!((failure.attempts(), failure.is_exhausted(), backend.calls()), (1, true, 1));
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_bought_before_the_pause_so_that_those_who_wait_are_counted() {
    let budget = permits(3);
    let stack = retrying(backend([fails(Fault::NotWritten)]), &budget);
    let mut calls: Vec<_> = (0..5).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    calls.retain_mut(|call| call.poll().is_pending());
    assert_eq!((calls.len(), budget.permits()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_permit_on_an_unchanged_handle_is_bought_before_the_pause_too() {
    let budget = permits(1);
    let handle = backend([fails(Fault::NotWritten), done("a")]);
    let mut call =
        task::spawn(recovering(&resolver([("a", handle.clone())]), &budget, attempts(2)).oneshot(Call::write()));
    assert_pending!(call.poll());
    assert_eq!((budget.permits(), handle.calls()), (0, 1));
    advance(millis(100)).await;
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
    assert_eq!(budget.permits(), 0, "what was sent is spent");
}

#[tokio::test(start_paused = true)]
async fn what_a_handle_gave_back_is_repeated_free_on_the_next_handle_to_the_same_instance() {
    let budget = permits(0);
    let resolver = resolver([("a", backend([Step::fail_ready(Fault::Lost)])), ("a", backend([done("a")]))]);
    assert_eq!(recovering(&resolver, &budget, attempts(2)).oneshot(Call::write()).await.unwrap(), Reply::Done("a"));

    // What the instance may have seen pays.
    let dead = backend([fails(Fault::ConnectionRefused)]);
    let resolver = super::support::resolver([("a", dead), ("a", backend([done("a")]))]);
    let failure = recovering(&resolver, &budget, attempts(2)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.attempts(), failure.gave_up()), (1, Some(GiveUp::Budget)));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_in_its_pause_gives_its_permit_back() {
    let budget = permits(1);
    let mut call = task::spawn(retrying(backend([fails(Fault::NotWritten)]), &budget).oneshot(Call::write()));
    assert_pending!(call.poll());
    assert_eq!(budget.permits(), 0);
    drop(call);
    assert_eq!(budget.permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_while_a_further_instance_is_readied_gives_its_permit_back() {
    let budget = permits(1);
    let slow =
        ScriptedReadiness::new(backend([fails(Fault::NotWritten)]), [ReadyStep::Ready, ReadyStep::Until(Gate::new())]);
    let mut call = task::spawn(retrying(slow, &budget).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(millis(100)).await;
    assert_pending!(poll_woken(&mut call));
    assert_eq!(budget.permits(), 0);
    drop(call);
    assert_eq!(budget.permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_deadline_leaves_no_pause_gives_its_permit_back() {
    let budget = permits(1);
    let layer = ReadOnlyRetryLayer::new(rules())
        .timing(CallTiming::builder().deadline(Duration::from_secs(1)).build().unwrap())
        .backoff(LinearBackoff::new(Duration::from_secs(2), Duration::from_secs(2)))
        .budget(Arc::clone(&budget));
    let stack =
        ServiceBuilder::new().layer(layer).layer(ClassifyLayer::new(Protocol)).service(backend([fails(Fault::Lost)]));
    // The call is kept, so that nothing but the deadline gives it back.
    let mut call = task::spawn(stack.oneshot(Call::read()));
    assert!(call.poll().is_ready());
    assert_eq!(budget.permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_that_was_sent_has_spent_its_permit_whatever_becomes_of_the_call() {
    let budget = permits(1);
    let backend = backend([fails(Fault::NotWritten), Step::hang()]);
    let mut call = task::spawn(retrying(backend.clone(), &budget).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(millis(100)).await;
    assert_pending!(poll_woken(&mut call));
    drop(call);
    assert_eq!((backend.calls(), budget.permits()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_on_another_instance_is_free() {
    let resolver = resolver([("a", backend([fails(Fault::ConnectionRefused)])), ("b", backend([done("b")]))]);
    let reply = recovering(&resolver, &permits(0), attempts(2)).oneshot(Call::write()).await.unwrap();
    assert_eq!((reply, resolver.resolves()), (Reply::Done("b"), 2));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_on_the_same_instance_pays_also_under_a_new_handle() {
    let refusing = backend([fails(Fault::ConnectionRefused)]);
    let new = backend([done("a")]);
    let resolver = resolver([("a", refusing), ("a", new.clone())]);
    let failure = recovering(&resolver, &permits(0), attempts(2)).oneshot(Call::write()).await.unwrap_err();
    assert!(failure.is_exhausted());
    assert_eq!(new.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_after_a_failed_look_up_pays() {
    let budget = permits(1);
    let resolver = ScriptedResolver::new([
        resolved("a", &backend([fails(Fault::ConnectionRefused)])),
        Step::fail(Fault::Lost),
        resolved("b", &backend([done("b")])),
    ]);
    recovering(&resolver, &budget, attempts(2)).oneshot(Call::write()).await.unwrap();
    assert_eq!(budget.permits(), 0);
}

#[tokio::test(start_paused = true)]
async fn answered_calls_pay_in_and_failed_ones_do_not() {
    let budget = Arc::new(ShareBudget::builder().percent(50).reserve(0).build().unwrap());
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(attempts(1)).budget(Arc::clone(&budget)))
        .layer(ClassifyLayer::new(Protocol))
        .service(backend([done("a"), fails(Fault::Lost), done("a"), fails(Fault::NotWritten)]));
    for succeeds in [true, false, true, false] {
        assert_eq!(stack.clone().oneshot(Call::write()).await.is_ok(), succeeds);
    }
    assert_eq!(budget.permits(), 1, "half a permit for each of two answers");
}
