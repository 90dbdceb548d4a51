//! Asking the registry beside a handle that serves.

use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower_recovery::HandleCache;
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    caller, seen,
    support::{Fault, cache, millis, poll_woken, resolved, resolver},
};

#[tokio::test(start_paused = true)]
async fn a_registry_that_names_the_same_instance_changes_nothing() {
    let resolver = resolver([("a", "first"), ("a", "second")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap();

    assert_eq!(seen(&cache.refresh().await.unwrap()), ("first", 1));
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("first", 1));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_names_another_instance_swaps_the_handle() {
    let cache = cache(&resolver([("a", "a"), ("b", "b")]));
    let old = cache.acquire().await.unwrap();

    assert_eq!(seen(&cache.refresh().await.unwrap()), ("b", 2));
    assert!(!old.lease.indict(), "a failure of the old handle does not touch the new one");
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_fails_leaves_the_handle_alone() {
    let failures = [Step::fail(Fault::Lost), Step::panic_in_poll(), Step::panic_in_call(), Step::hang()];
    for failure in failures {
        let cache = cache(&ScriptedResolver::new([resolved("a", &"a"), failure]));
        cache.acquire().await.unwrap();
        cache.refresh().await.unwrap_err();
        assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
    }
}

#[tokio::test(start_paused = true)]
async fn callers_are_served_while_the_registry_is_asked() {
    let gate = Gate::new();
    let cache = cache(&ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]));
    cache.acquire().await.unwrap();
    let mut refresh = task::spawn(cache.refresh());
    assert_pending!(refresh.poll());

    assert_eq!(seen(&assert_ready_ok!(caller(&cache).poll())), ("a", 1));
    gate.open();
    assert_eq!(seen(&assert_ready_ok!(caller(&cache).poll())), ("a", 1), "nobody has polled the look-up yet");
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut refresh))), ("b", 2));
    assert_eq!(seen(&assert_ready_ok!(caller(&cache).poll())), ("b", 2));
}

#[tokio::test(start_paused = true)]
async fn look_ups_at_the_same_time_are_one() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap();
    let mut refreshes: Vec<_> = (0..4).map(|_| task::spawn(cache.refresh())).collect();
    for refresh in &mut refreshes {
        assert_pending!(refresh.poll());
    }
    gate.open();
    for refresh in &mut refreshes {
        assert_eq!(seen(&assert_ready_ok!(poll_woken(refresh))), ("b", 2));
    }
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_during_a_look_up_leaves_it_to_the_callers() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]);
    let cache = cache(&resolver);
    let old = cache.acquire().await.unwrap();
    let mut refresh = task::spawn(cache.refresh());
    assert_pending!(refresh.poll());

    assert!(old.lease.indict());
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll());
    drop(refresh);
    assert_eq!(resolver.in_flight(), 1, "the caller waits for it still");
    gate.open();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut waiting))), ("b", 2));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_fails_after_an_eviction_fails_for_all_and_is_not_remembered() {
    let gate = Gate::new();
    let resolver =
        ScriptedResolver::new([resolved("a", &"a"), Step::fail(Fault::Lost).behind(&gate), resolved("b", &"b")]);
    let cache = cache(&resolver);
    let old = cache.acquire().await.unwrap();
    let mut refresh = task::spawn(cache.refresh());
    assert_pending!(refresh.poll());
    old.lease.indict();
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll());

    gate.open();
    assert_ready_err!(poll_woken(&mut refresh));
    assert_ready_err!(poll_woken(&mut waiting));
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
}

#[tokio::test(start_paused = true)]
async fn the_last_to_leave_a_look_up_ends_it_and_the_handle_stays() {
    let resolver = ScriptedResolver::new([resolved("a", &"a"), Step::hang(), resolved("b", &"b")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap();
    let mut refresh = task::spawn(cache.refresh());
    assert_pending!(refresh.poll());
    drop(refresh);
    assert_eq!((resolver.in_flight(), resolver.dropped()), (0, 1));
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
    assert_eq!(seen(&cache.refresh().await.unwrap()), ("b", 2));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_is_never_polled_blocks_no_other_and_no_caller() {
    let cache = cache(&resolver([("a", "a"), ("b", "b")]));
    let old = cache.acquire().await.unwrap();
    let unpolled = cache.refresh();
    old.lease.indict();
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
    drop(unpolled);
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
}

#[tokio::test(start_paused = true)]
async fn without_a_handle_a_refresh_is_the_resolve_that_callers_share() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
    let cache = cache(&resolver);
    let mut refresh = task::spawn(cache.refresh());
    let mut waiting = caller(&cache);
    assert_pending!(refresh.poll());
    assert_pending!(waiting.poll());
    gate.open();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut waiting))), ("a", 1));
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut refresh))), ("a", 1));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn look_ups_keep_the_floor_too() {
    let resolver = resolver([("a", "a")]);
    let cache: HandleCache<&str> =
        HandleCache::builder(resolver.clone(), "service").resolve_floor(millis(100), millis(500)).exact_floor().build();
    cache.acquire().await.unwrap();
    let mut refresh = task::spawn(cache.refresh());
    assert_pending!(refresh.poll());
    advance(millis(99)).await;
    assert!(!refresh.is_woken());
    assert_eq!(resolver.resolves(), 1);
    advance(millis(1)).await;
    assert_ready_ok!(poll_woken(&mut refresh));
    assert_eq!(resolver.resolves(), 2);
}
