//! The layers together, and among layers of tower's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod reports;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use tokio::time::{Instant, advance};
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{
    BoxError, Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimitLayer, retry::RetryLayer,
    util::BoxCloneSyncService,
};
use tower_recovery::{
    AttemptTimedOut, AttemptTimeoutLayer, CallTiming, ClassifyLayer, Delivery, Dispatch, Failure, HandleCache,
    ReadOnlyRetryLayer, ReresolveLayer,
};
use tower_recovery_test::{Gate, ReadyStep, Registry, ScriptedReadiness, ScriptedResolver, ScriptedService, Step};

use self::support::{
    Call, Fault, Protocol, Reply, attempts, backend, cache, done, fails, millis, poll_woken, resolved, resolver, rules,
};

/// The whole stack, as its documentation draws it.
fn whole<Handle>(cache: HandleCache<Handle>, timing: CallTiming) -> BoxCloneSyncService<Call, Reply, Failure>
where
    Handle: Service<Call, Response = Reply, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync + 'static,
{
    BoxCloneSyncService::new(
        ServiceBuilder::new()
            .layer(ReadOnlyRetryLayer::new(rules()).timing(timing))
            .layer(ReresolveLayer::new(cache))
            .layer(ClassifyLayer::new(Protocol))
            .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
            .service(Dispatch),
    )
}

fn within(deadline: Duration) -> CallTiming {
    CallTiming::builder().deadline(deadline).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn request_answer_and_error_pass_untouched() {
    let handle = backend([done("a"), Step::answer(Reply::Error(500)), fails(Fault::Foreign)]);
    let resolver = resolver([("a", handle.clone())]);
    let mut stack = whole(cache(&resolver), attempts(3));
    let call = Call::counted_read().with_key(7).with_silent(false);

    assert_eq!(stack.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Done("a"));
    assert_eq!(stack.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Error(500));
    let failure = stack.ready().await.unwrap().call(call.clone()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.cause().unwrap().downcast_ref()), (None, Some(&Fault::Foreign)));
    assert_eq!((handle.requests(), resolver.resolves()), (vec![call.clone(), call.clone(), call], 1));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_handle_costs_a_read_one_attempt_and_the_next_call_nothing() {
    let frozen = backend([Step::hang()]);
    let resolver = resolver([("a", frozen.clone()), ("b", backend([done("b")]))]);
    let stack = whole(cache(&resolver), within(Duration::from_secs(9)));
    let started = Instant::now();

    assert_eq!(stack.clone().oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    assert_eq!((frozen.calls(), frozen.in_flight(), resolver.resolves()), (1, 0, 2));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_handle_fails_a_write_and_is_evicted_all_the_same() {
    let frozen = backend([Step::hang()]);
    let resolver = resolver([("a", frozen.clone()), ("b", backend([done("b")]))]);
    let stack = whole(cache(&resolver), within(Duration::from_secs(9)));

    let failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(failure.find::<AttemptTimedOut>().unwrap().handed_over);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(frozen.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_never_becomes_ready_was_never_sent_the_write_which_goes_to_the_next() {
    let scripted = backend([done("a")]);
    let stuck = ScriptedReadiness::new(scripted.clone(), [ReadyStep::Until(Gate::new())]);
    let sound = ScriptedReadiness::new(backend([done("b")]), []);
    let resolver = resolver([("a", stuck), ("b", sound)]);
    let started = Instant::now();
    let reply = whole(cache(&resolver), within(Duration::from_secs(9))).oneshot(Call::write()).await.unwrap();
    assert_eq!((reply, started.elapsed()), (Reply::Done("b"), Duration::from_secs(3)));
    assert_eq!(scripted.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_moves_on_and_on_is_followed() {
    let registry = Registry::new();
    let name = "orders";
    let instances: Vec<_> = (0..5).map(|_| backend([done("served"), fails(Fault::ConnectionRefused)])).collect();
    let cache = HandleCache::builder(registry.resolver(), name).build();
    let stack = whole(cache, attempts(3));
    for (number, instance) in instances.iter().enumerate() {
        registry.register(name, format!("10.0.0.{number}:80"), instance.clone());
        assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("served"));
        advance(Duration::from_secs(60)).await;
    }
    assert_eq!(registry.look_ups(name), 5);
    assert_eq!(instances.iter().map(ScriptedService::calls).collect::<Vec<_>>(), [2, 2, 2, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_towers_above_can_see_that_the_call_is_exhausted() {
    #[derive(Clone)]
    struct UnlessExhausted;
    impl tower::retry::Policy<Call, Reply, Failure> for UnlessExhausted {
        type Future = std::future::Ready<()>;
        fn retry(&mut self, _: &mut Call, outcome: &mut Result<Reply, Failure>) -> Option<Self::Future> {
            outcome.as_ref().is_err_and(|failure| !failure.is_exhausted()).then(|| std::future::ready(()))
        }
        fn clone_request(&mut self, call: &Call) -> Option<Call> {
            Some(call.clone())
        }
    }
    let handle = backend([fails(Fault::NotWritten)]);
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new(UnlessExhausted))
        .service(whole(cache(&resolver([("a", handle.clone())])), attempts(3)));
    assert!(stack.oneshot(Call::write()).await.unwrap_err().is_exhausted());
    assert_eq!(handle.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn under_a_buffer_a_failure_comes_out_as_it_went_in() {
    let handle = backend([fails(Fault::Expired)]);
    let stack = ServiceBuilder::new().buffer(4).service(whole(cache(&resolver([("a", handle)])), attempts(3)));
    let error = stack.oneshot(Call::write()).await.unwrap_err();
    let failure = Failure::recover(error);
    assert_eq!(failure.verdict(), Fault::Expired.verdict());
    assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&Fault::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_limit_above_the_stack_holds_over_all_attempts_of_a_call() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([
        resolved("a", &backend([fails(Fault::ConnectionRefused)])),
        resolved("b", &backend([done("b")])).behind(&gate),
    ]);
    let stack =
        ServiceBuilder::new().layer(ConcurrencyLimitLayer::new(1)).service(whole(cache(&resolver), attempts(3)));
    let mut first = task::spawn(stack.clone().oneshot(Call::write()));
    let mut second = task::spawn(stack.oneshot(Call::write()));
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut first)), Reply::Done("b"));
    drop(first);
    assert_eq!(assert_ready_ok!(poll_woken(&mut second)), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_of_a_dead_instance_cause_one_resolve_and_each_writes_once() {
    let gate = Gate::new();
    let (old, new) = (backend([fails(Fault::ConnectionRefused).behind(&gate)]), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let stack = whole(cache(&resolver), attempts(3));
    let calls: Vec<_> = (0..1000).map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key)))).collect();
    old.wait_until_in_flight(1000).await;
    gate.open();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Reply::Done("b"));
    }
    let mut keys: Vec<_> = new.requests().iter().map(|call| call.key).collect();
    keys.sort_unstable();
    assert_eq!((keys, resolver.resolves()), ((0..1000).collect(), 2));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_moment_leaves_nothing_open() {
    // Resolve, attempt, look-up, attempt: each takes 100 ms. The call is dropped 50 ms into each of them.
    for moment in [0, 50, 150, 250, 350] {
        let first = backend([fails(Fault::ConnectionRefused).delayed(millis(100))]);
        let second = backend([done("b").delayed(millis(100))]);
        let resolver = ScriptedResolver::new([
            resolved("a", &first).delayed(millis(100)),
            resolved("b", &second).delayed(millis(100)),
        ]);
        let stack = whole(cache(&resolver), attempts(3));
        let mut call = task::spawn(stack.clone().oneshot(Call::write()));
        if moment > 0 {
            assert_pending!(call.poll());
        }
        for _ in 0..moment / 50 {
            advance(millis(50)).await;
            if call.is_woken() {
                assert_pending!(call.poll());
            }
        }
        drop(call);
        let open = resolver.in_flight() + first.in_flight() + second.in_flight();
        let begun = resolver.resolves() + first.calls() + second.calls();
        assert_eq!(open, 0, "dropped after {moment} ms");
        advance(Duration::from_secs(3600)).await;
        assert_eq!(resolver.resolves() + first.calls() + second.calls(), begun, "dropped after {moment} ms");
        stack.oneshot(Call::write()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn two_stacks_above_one_another_keep_their_own_handles() {
    // The handle of the outer stack is a stack itself: a tenant behind a gateway.
    let inner = resolver([("instance-1", backend([fails(Fault::Lost)])), ("instance-2", backend([done("b")]))]);
    let gateway = whole(cache(&inner), attempts(1));
    let outer = resolver([("gateway", gateway)]);
    let outer_cache = cache(&outer);
    let mut call = task::spawn(whole(outer_cache.clone(), attempts(3)).oneshot(Call::write()));
    let failure = assert_ready_err!(call.poll());
    assert_eq!(
        (failure.delivery(), failure.lease().unwrap().identity().as_str()),
        (Some(Delivery::MaybeSent), "gateway")
    );
    assert_eq!((inner.resolves(), outer.resolves()), (1, 1));
}
