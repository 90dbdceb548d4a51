//! Callers that are dropped, or held and never polled again, while they wait.

use std::time::Duration;

use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok};
use tower_recovery::{HandleCache, ResolveError, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    caller, seen,
    support::{Fault, cache, poll_woken, resolved, yield_once},
};

#[tokio::test(start_paused = true)]
async fn whoever_of_three_waiters_is_dropped_the_others_go_on() {
    for dropped in 0..3 {
        let gate = Gate::new();
        let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
        let cache = cache(&resolver);
        let mut callers: Vec<_> = (0..3).map(|_| caller(&cache)).collect();
        for caller in &mut callers {
            assert_pending!(caller.poll());
        }
        drop(callers.remove(dropped));
        gate.open();
        for caller in &mut callers {
            assert_eq!(seen(&assert_ready_ok!(poll_woken(caller))), ("a", 1), "number {dropped} was dropped");
        }
        assert_eq!((resolver.resolves(), resolver.dropped()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_of_three_waiters_is_held_and_never_polled_again_the_others_go_on() {
    for held in 0..3 {
        let gate = Gate::new();
        let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
        let cache = cache(&resolver);
        let mut callers: Vec<_> = (0..3).map(|_| caller(&cache)).collect();
        for caller in &mut callers {
            assert_pending!(caller.poll());
        }
        let sleeper = callers.remove(held);
        gate.open();
        for caller in &mut callers {
            assert_eq!(seen(&assert_ready_ok!(poll_woken(caller))), ("a", 1), "number {held} was held");
        }
        drop(sleeper);
        assert_eq!(resolver.resolves(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_was_woken_and_dropped_takes_no_wake_up_with_it() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
    let cache = cache(&resolver);
    let mut first = caller(&cache);
    let mut second = caller(&cache);
    assert_pending!(first.poll());
    assert_pending!(second.poll());

    gate.open();
    assert!(first.is_woken());
    drop(first);
    assert_ready_ok!(poll_woken(&mut second));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_was_never_polled_holds_nobody_up_and_ends_nothing() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
    let cache = cache(&resolver);
    let unpolled = caller(&cache);
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll());
    drop(unpolled);
    assert_eq!(resolver.in_flight(), 1);
    gate.open();
    assert_ready_ok!(poll_woken(&mut waiting));
}

#[tokio::test(start_paused = true)]
async fn the_last_waiter_to_leave_ends_the_resolve_and_the_next_call_starts_anew() {
    let resolver = ScriptedResolver::new([Step::hang(), resolved("a", &"a")]);
    let cache = cache(&resolver);
    let mut callers: Vec<_> = (0..3).map(|_| caller(&cache)).collect();
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }

    callers.truncate(1);
    assert_eq!((resolver.in_flight(), resolver.dropped()), (1, 0), "somebody waits still");
    callers.clear();
    assert_eq!((resolver.in_flight(), resolver.dropped()), (0, 1));

    assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_left_after_the_answer_changes_nothing() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
    let cache = cache(&resolver);
    let mut first = caller(&cache);
    let mut second = caller(&cache);
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    gate.open();
    assert_ready_ok!(poll_woken(&mut first));
    drop(second);
    assert_eq!(cache.generation().unwrap().get(), 1);
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_reaches_those_who_are_polled_after_a_new_resolve_has_begun() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost).behind(&gate), Step::hang()]);
    let cache = cache(&resolver);
    let mut first = caller(&cache);
    let mut slow = caller(&cache);
    assert_pending!(first.poll());
    assert_pending!(slow.poll());
    gate.open();
    assert_ready_err!(poll_woken(&mut first));

    let mut next = caller(&cache);
    assert_pending!(next.poll());
    assert!(matches!(assert_ready_err!(poll_woken(&mut slow)), ResolveError::Failed(_)));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 1), "the old failure ends no new resolve");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn waiters_on_many_threads_may_come_and_go() {
    // Every other caller gives up after one poll; the rest must all get a handle, and evict it for the next round.
    let restless = tower::service_fn(|_: &str| async {
        for _ in 0..3 {
            yield_once().await;
        }
        Ok::<_, Fault>(Resolved::new("a", "a"))
    });
    let cache: HandleCache<&str> =
        HandleCache::builder(restless, "service").resolve_floor(Duration::ZERO, Duration::ZERO).build();
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let cache = cache.clone();
            tokio::spawn(async move {
                for round in 0..200 {
                    if (number + round) % 2 == 0 {
                        let _ = caller(&cache).poll();
                    } else {
                        cache.acquire().await.unwrap().lease.indict();
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    cache.acquire().await.unwrap();
}
