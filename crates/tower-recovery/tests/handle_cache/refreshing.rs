//! Asking the registry from time to time, although nothing fails.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    runtime::{Builder, Handle as Runtime},
    task::yield_now,
    time::{Instant, sleep},
};
use tower::{ServiceExt, service_fn};
use tower_recovery::{HandleCache, HandleCacheBuilder, RecoveryEvent, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    seen,
    support::{Call, Fault, Reply, attempts, backend, done, millis, recovering, resolved, resolver},
};

const PERIOD: Duration = Duration::from_secs(60);

fn refreshed<Handle: Clone + Send + 'static>(resolver: &ScriptedResolver<Handle>) -> HandleCacheBuilder<Handle> {
    HandleCache::builder(resolver.clone(), "service")
        .resolve_floor(Duration::ZERO, Duration::ZERO)
        .refresh_every(PERIOD)
        .unwrap()
}

fn tasks() -> usize {
    Runtime::current().metrics().num_alive_tasks()
}

/// Lets time pass, and everything run that is due.
async fn pass(time: Duration) {
    sleep(time).await;
    for _ in 0..3 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn b42_with_a_refresh_another_instance_gets_the_calls_although_nothing_fails() {
    let gate = Gate::new();
    let old = backend([done("a"), done("a").behind(&gate), done("a")]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let stack = recovering(refreshed(&resolver).build(), attempts(3));
    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    let under_way = tokio::spawn(stack.clone().oneshot(Call::write()));
    old.wait_until_calls(2).await;

    pass(PERIOD).await;
    assert_eq!(resolver.resolves(), 2);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    gate.open();
    assert_eq!(under_way.await.unwrap().unwrap(), Reply::Done("a"), "a call under way goes on to its own end");
    assert_eq!((old.calls(), old.dropped(), new.calls()), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn without_a_refresh_the_first_handle_serves_for_ever_and_no_task_runs() {
    let resolver = resolver([("a", "a"), ("b", "b")]);
    let cache = super::support::cache(&resolver);
    cache.acquire().await.unwrap();
    pass(PERIOD * 100).await;
    assert_eq!((seen(&cache.acquire().await.unwrap()), resolver.resolves(), tasks()), (("a", 1), 1, 0));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_while_nothing_is_live() {
    let resolver = resolver([("a", "a"), ("b", "b")]);
    let cache = refreshed(&resolver).build();
    pass(PERIOD * 10).await;
    assert_eq!((resolver.resolves(), tasks()), (0, 0), "nobody has wanted a handle yet");

    let held = cache.acquire().await.unwrap();
    held.lease.indict();
    pass(PERIOD * 10).await;
    assert_eq!(resolver.resolves(), 1, "the next caller resolves");
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
    pass(PERIOD).await;
    assert_eq!(resolver.resolves(), 3, "and then it is refreshed again");
}

#[tokio::test(start_paused = true)]
async fn one_task_refreshes_however_often_the_handle_is_replaced() {
    let resolver = ScriptedResolver::new([]);
    for identity in ["a", "b"].repeat(20) {
        resolver.push(resolved(identity, &identity));
    }
    let cache = refreshed(&resolver).build();
    for round in 0..20 {
        let held = cache.acquire().await.unwrap();
        assert_eq!(tasks(), 1);
        if round % 2 == 0 {
            held.lease.indict();
        } else {
            cache.refresh().await.unwrap();
        }
    }
    let resolves = resolver.resolves();
    pass(PERIOD).await;
    assert_eq!((resolver.resolves() - resolves, tasks()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_period_is_between_three_quarters_and_the_whole_of_it_and_differs() {
    let asked = Arc::<Mutex<Vec<Instant>>>::default();
    let noting = Arc::clone(&asked);
    let resolver = service_fn(move |()| {
        noting.lock().unwrap().push(Instant::now());
        async { Ok::<_, Infallible>(Resolved::new("a", "a")) }
    });
    let cache = HandleCache::builder(resolver, ()).refresh_every(PERIOD).unwrap().build();
    cache.acquire().await.unwrap();
    pass(PERIOD * 200).await;

    let asked = asked.lock().unwrap().clone();
    let mut pauses: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    pauses.sort_unstable();
    let (shortest, longest) = (pauses[0], pauses[pauses.len() - 1]);
    // The timers of the runtime are as coarse as a millisecond.
    assert!(shortest >= PERIOD * 3 / 4 && longest <= PERIOD + millis(1), "{shortest:?} to {longest:?}");
    assert!(longest - shortest > PERIOD / 8, "over two hundred periods chance makes a difference");
    assert!((200..=267).contains(&pauses.len()), "{}", pauses.len());
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_fails_keeps_the_handle_and_is_reported_and_asked_again() {
    let failures = Arc::<Mutex<Vec<String>>>::default();
    let seen_failures = Arc::clone(&failures);
    let observer = move |event: &RecoveryEvent| {
        if let RecoveryEvent::ResolveFailed { cause, .. } = event {
            seen_failures.lock().unwrap().push(cause.clone());
        }
    };
    let bad = [Step::fail(Fault::Lost), Step::hang(), Step::panic_in_call(), Step::panic_in_poll()];
    let resolver = ScriptedResolver::new([resolved("a", &"a")].into_iter().chain(bad)).then_always(resolved("b", &"b"));
    let cache = refreshed(&resolver).resolve_timeout(millis(500)).observer(observer).build();
    cache.acquire().await.unwrap();
    for bad in 1..=4 {
        while failures.lock().unwrap().len() < bad {
            pass(millis(250)).await;
            assert!(resolver.resolves() <= 1 + bad, "a hanging registry is asked no more often");
        }
        assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
    }
    pass(PERIOD).await;
    assert_eq!((seen(&cache.acquire().await.unwrap()), tasks()), (("b", 2), 1));
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_cache_and_its_last_lease() {
    let resolver = resolver([("a", "a")]);
    let cache = refreshed(&resolver).build();
    let held = cache.acquire().await.unwrap();
    drop(cache.clone());
    pass(millis(1)).await;
    assert_eq!(tasks(), 1);
    drop(cache);
    drop(held);
    pass(millis(1)).await;
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_under_way_holds_the_task_for_its_own_time_alone() {
    let resolver = ScriptedResolver::new([resolved("a", &"a"), Step::hang()]);
    let cache = refreshed(&resolver).resolve_timeout(Duration::from_secs(10)).build();
    cache.acquire().await.unwrap();
    pass(PERIOD).await;
    while resolver.in_flight() == 0 {
        pass(millis(100)).await;
    }
    drop(cache);
    pass(Duration::from_secs(10)).await;
    assert_eq!((resolver.in_flight(), tasks()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn callers_are_served_while_it_asks_and_an_eviction_meanwhile_leaves_it_to_them() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]);
    let cache = refreshed(&resolver).resolve_timeout(PERIOD * 2).build();
    let held = cache.acquire().await.unwrap();
    pass(PERIOD).await;
    assert_eq!(resolver.in_flight(), 1);
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
    held.lease.indict();
    let caller = tokio::spawn(cache.acquire());
    pass(millis(1)).await;
    gate.open();
    assert_eq!((seen(&caller.await.unwrap().unwrap()), resolver.resolves()), (("b", 2), 2));
}

#[test]
fn the_runtime_of_the_task_may_be_shut_down_and_the_next_new_handle_starts_another() {
    let [first, second] =
        [(); 2].map(|()| Builder::new_current_thread().enable_time().start_paused(true).build().unwrap());
    let resolver = resolver([("a", "a"), ("b", "b")]);
    let cache = refreshed(&resolver).build();
    let held = first.block_on(cache.acquire()).unwrap();
    assert_eq!(first.metrics().num_alive_tasks(), 1);
    drop(first);
    held.lease.indict();
    second.block_on(async {
        cache.acquire().await.unwrap();
        assert_eq!(tasks(), 1);
        pass(PERIOD).await;
    });
    assert_eq!(resolver.resolves(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_shortest_and_the_longest_period_do_what_they_say() {
    for period in [millis(1), Duration::from_secs(7 * 24 * 60 * 60)] {
        let resolver = resolver([("a", "a"), ("b", "b")]);
        let cache = HandleCache::builder(resolver.clone(), "service")
            .resolve_floor(Duration::ZERO, Duration::ZERO)
            .refresh_every(period)
            .unwrap()
            .build();
        cache.acquire().await.unwrap();
        pass(period * 3 / 4 - Duration::from_micros(500)).await;
        pass(period / 4 + millis(2)).await;
        assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
    }
}
