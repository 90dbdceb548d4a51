//! The pause between one answer of the resolver and the next resolve.

use tokio::time::{Duration, Instant, advance};
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok};
use tower_recovery::{HandleCache, ResolveError};
use tower_recovery_test::{ScriptedResolver, Step};

use super::{
    caller,
    support::{Fault, millis, poll_woken, resolved},
};

const STEP: Duration = Duration::from_millis(100);
const CEILING: Duration = Duration::from_millis(250);

fn cache(resolver: &ScriptedResolver<&'static str>) -> HandleCache<&'static str> {
    HandleCache::builder(resolver.clone(), "service").resolve_floor(STEP, CEILING).exact_floor().build()
}

/// How long the next handle, or the next failure, takes to come.
async fn taken(cache: &HandleCache<&'static str>) -> Duration {
    let started = Instant::now();
    if let Ok(held) = cache.acquire().await {
        held.lease.indict();
    }
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn the_next_resolve_starts_at_the_end_of_the_floor_and_not_before() {
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap().lease.indict();
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll());

    advance(STEP - millis(1)).await;
    assert!(!waiting.is_woken());
    assert_eq!(resolver.resolves(), 1);
    advance(millis(1)).await;
    assert_ready_ok!(poll_woken(&mut waiting));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_after_the_floor_is_resolved_at_once() {
    let cache = cache(&ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b")]));
    let held = cache.acquire().await.unwrap();
    advance(STEP).await;
    held.lease.indict();
    assert_eq!(taken(&cache).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_wait_longer_and_longer_up_to_the_ceiling() {
    let cache = cache(&ScriptedResolver::new([Step::fail(Fault::Lost)]));
    let mut pauses = Vec::new();
    for _ in 0..6 {
        pauses.push(taken(&cache).await);
    }
    assert_eq!(pauses, [0, 100, 200, 250, 250, 250].map(millis));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_comes_back_again_and_again_is_asked_for_less_and_less() {
    let cache = cache(&ScriptedResolver::new([resolved("a", &"a")]));
    let mut pauses = Vec::new();
    for _ in 0..5 {
        pauses.push(taken(&cache).await);
    }
    assert_eq!(pauses, [0, 100, 100, 200, 250].map(millis), "one try, and then a pause that grows");
}

#[tokio::test(start_paused = true)]
async fn another_instance_brings_the_floor_back_to_one_step() {
    let cache = cache(&ScriptedResolver::new([
        resolved("a", &"a"),
        Step::fail(Fault::Lost),
        Step::fail(Fault::Lost),
        resolved("b", &"b"),
        resolved("c", &"c"),
    ]));
    let mut pauses = Vec::new();
    for _ in 0..5 {
        pauses.push(taken(&cache).await);
    }
    assert_eq!(pauses, [0, 100, 100, 200, 100].map(millis));
}

#[tokio::test(start_paused = true)]
async fn the_floor_counts_from_the_answer_and_not_from_the_start() {
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost).delayed(millis(400)), resolved("a", &"a")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap_err();
    assert_eq!(taken(&cache).await, STEP);
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_resolve_counts_from_the_end_of_its_floor() {
    let resolver = ScriptedResolver::new([resolved("a", &"a"), Step::hang()]);
    let cache: HandleCache<&str> = HandleCache::builder(resolver, "service")
        .resolve_floor(STEP, CEILING)
        .exact_floor()
        .resolve_timeout(millis(300))
        .build();
    cache.acquire().await.unwrap().lease.indict();
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll());

    advance(STEP).await;
    assert_pending!(poll_woken(&mut waiting));
    advance(millis(299)).await;
    assert!(!waiting.is_woken());
    advance(millis(1)).await;
    assert!(matches!(assert_ready_err!(poll_woken(&mut waiting)), ResolveError::TimedOut(_)));
}

#[tokio::test(start_paused = true)]
async fn all_who_come_within_the_floor_share_the_next_resolve() {
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost), resolved("a", &"a")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap_err();
    let mut callers: Vec<_> = (0..8).map(|_| caller(&cache)).collect();
    for caller in &mut callers {
        assert_pending!(caller.poll());
        advance(millis(10)).await;
    }
    advance(millis(20)).await;
    for caller in &mut callers {
        assert_ready_ok!(poll_woken(caller));
    }
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_within_the_floor_starts_no_resolve() {
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost), resolved("a", &"a")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap_err();
    let mut leaving = caller(&cache);
    assert_pending!(leaving.poll());
    drop(leaving);
    advance(CEILING).await;
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resolve_that_everybody_left_counts_for_the_floor() {
    // Callers that give up one after the other, each before the slow registry answers, must not hammer it.
    let resolver = ScriptedResolver::new([Step::hang()]);
    let cache = cache(&resolver);
    for _ in 0..5 {
        let mut impatient = caller(&cache);
        assert_pending!(impatient.poll());
        advance(millis(10)).await;
        drop(impatient);
    }
    assert_eq!(resolver.resolves(), 1, "five resolves would have begun within 50 ms");
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_is_asked_no_more_often_than_one_that_fails() {
    let mut look_ups = Vec::new();
    for bad in [Step::fail(Fault::NoSuchFile), Step::hang()] {
        let resolver: ScriptedResolver<&'static str> = ScriptedResolver::new([bad]);
        let cache = cache(&resolver);
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            // A caller with a deadline far below the limit of a resolve, which leaves and comes again.
            let _ = tokio::time::timeout(millis(200), cache.acquire()).await;
            // Time passes, also where a failure that was remembered comes at once.
            advance(millis(1)).await;
        }
        look_ups.push(resolver.resolves());
    }
    assert!(look_ups[1] <= look_ups[0], "{look_ups:?}");
}
