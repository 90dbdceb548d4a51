//! What evicts a handle, and what does not.

use std::time::Duration;

use tokio::time::Instant;
use tower::{Service, ServiceBuilder, ServiceExt, buffer::Buffer, timeout::TimeoutLayer};
use tower_recovery::{ClassifyLayer, Delivery, Dispatch, Failure, HandleCache, ReresolveLayer};
use tower_recovery_test::{ReadyStep, ScriptedReadiness, Step};

use super::support::{Call, Fault, Protocol, Reply, backend, cache, done, fails, millis, reresolving, resolver};

#[tokio::test]
async fn only_a_failure_that_says_so_evicts() {
    for fault in Fault::ALL {
        let resolver = resolver([("a", backend([fails(fault), done("a")])), ("b", backend([done("b")]))]);
        let cache = cache(&resolver);
        let stack = reresolving(cache.clone());
        stack.clone().oneshot(Call::write()).await.unwrap_err();

        let by = if fault.verdict().is_stale() { "b" } else { "a" };
        assert_eq!(cache.generation().is_none(), fault.verdict().is_stale(), "{fault}");
        assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done(by), "{fault}");
    }
}

#[tokio::test]
async fn an_answer_evicts_nothing() {
    let resolver = resolver([("a", backend([Step::answer(Reply::Error(500)), done("a")]))]);
    let stack = reresolving(cache(&resolver));
    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Error(500));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test]
async fn an_answer_that_is_only_stale_evicts_and_goes_out() {
    let old = backend([Step::answer(Reply::LastWords)]);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    let stack = reresolving(cache(&resolver));

    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::LastWords);
    assert_eq!((old.calls(), resolver.resolves()), (1, 1));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test]
async fn a_response_that_refuses_stays_in_its_failure() {
    let resolver = resolver([("a", backend([Step::answer(Reply::NotHere)]))]);
    let failure = reresolving(cache(&resolver)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::Refused));
    assert_eq!(failure.take_response(), Some(Reply::NotHere));
}

#[tokio::test]
async fn a_handle_that_cannot_be_readied_is_evicted() {
    let broken = ScriptedReadiness::new(backend([done("a")]), [ReadyStep::Fail(Fault::Lost.into())]);
    let sound = ScriptedReadiness::new(backend([done("b")]), []);
    let resolver = resolver([("a", broken), ("b", sound)]);
    let stack = reresolving(cache(&resolver));

    let failure = stack.clone().oneshot(Call::write().with_key(7)).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(7)));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_towers_above_the_classifier_evicts() {
    let resolver = resolver([("a", backend([Step::hang()])), ("b", backend([done("b")]))]);
    let stack = ServiceBuilder::new()
        .layer(ReresolveLayer::new(cache(&resolver)))
        .layer(TimeoutLayer::new(Duration::from_secs(1)))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch);
    let failure: Failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_above_the_layer_evicts_nothing() {
    let resolver = resolver([("a", backend([Step::hang(), done("a")]))]);
    let stack =
        ServiceBuilder::new().layer(TimeoutLayer::new(Duration::from_secs(1))).service(reresolving(cache(&resolver)));
    stack.clone().oneshot(Call::write()).await.unwrap_err();
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test]
async fn a_handle_that_is_a_dead_buffer_is_evicted() {
    let dead = Buffer::new(ScriptedReadiness::new(backend([]), [ReadyStep::Fail(Fault::Lost.into())]), 1);
    let sound = Buffer::new(ScriptedReadiness::new(backend([done("b")]), []), 1);
    let resolver = resolver([("a", dead), ("b", sound)]);
    let stack = reresolving(cache(&resolver));

    let failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent), "the worker died before it took the request");
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test]
async fn each_clone_notices_an_eviction_at_its_next_call() {
    let first = backend([done("a"), done("a"), fails(Fault::Lost)]);
    let resolver = resolver([("a", first.clone()), ("b", backend([done("b")]))]);
    let mut one = reresolving(cache(&resolver));
    one.ready().await.unwrap().call(Call::write()).await.unwrap();
    let mut other = one.clone();
    other.ready().await.unwrap().call(Call::write()).await.unwrap();

    one.ready().await.unwrap().call(Call::write()).await.unwrap_err();
    assert_eq!(other.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(one.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((first.calls(), resolver.resolves()), (3, 2));
}

/// How long each of so many calls on one instance takes, every second of which loses the connection. It may have answered the other ones.
async fn pauses(other: Step<Reply>) -> Vec<u128> {
    let steps = (0..10).flat_map(|_| [other.clone(), fails(Fault::Lost)]);
    let resolver = resolver([("a", backend(steps))]);
    let cache = HandleCache::builder(resolver, "service").resolve_floor(millis(100), millis(5_000)).exact_floor();
    let stack = reresolving(cache.build());
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let started = Instant::now();
        let _ = stack.clone().oneshot(Call::write()).await;
        pauses.push(started.elapsed().as_millis());
    }
    pauses
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_answers_in_between_is_found_again_after_one_step_however_often_it_is_lost() {
    assert_eq!(pauses(done("a")).await, [0, 0, 100, 0, 100, 0, 100, 0, 100, 0]);
    assert_eq!(
        pauses(fails(Fault::NoSuchFile)).await,
        [0, 0, 100, 0, 100, 0, 100, 0, 100, 0],
        "a verdict is an answer"
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_only_says_that_it_goes_away_is_found_again_after_longer_and_longer() {
    assert_eq!(pauses(fails(Fault::SessionGone)).await, [0, 100, 100, 200, 300, 400, 500, 600, 700, 800]);
}
