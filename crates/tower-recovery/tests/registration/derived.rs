//! `HandleCache::invalidate`: what handles are made of was replaced.

use std::convert::Infallible;

use tokio::time::{Duration, Instant, sleep};
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::service_fn;
use tower_recovery::{HandleCache, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    support::{Fault, Tracked, backend, cache, done, poll_woken, resolved},
    world::{Act, Asked, ID, INTERVAL, LATENCY, Registry, Serving, Worker, seconds},
};

const STEP: Duration = Duration::from_millis(100);

/// A cache that waits a step after a resolve that helped, and longer after each that did not.
fn floored(resolver: &ScriptedResolver<&'static str>) -> HandleCache<&'static str> {
    HandleCache::builder(resolver.clone(), "service").resolve_floor(STEP, STEP * 50).exact_floor().build()
}

#[tokio::test(start_paused = true)]
async fn the_live_handle_is_dropped_and_the_next_call_resolves_anew() {
    let old = Tracked::new(backend([done("a")]));
    let copies = old.copies();
    let mut once = vec![old];
    let resolver = ScriptedResolver::new([
        Step::answer_with(move || Resolved::new("a", once.pop().unwrap())),
        resolved("a", &Tracked::new(backend([done("a")]))),
    ]);
    let cache = cache(&resolver);
    let held = cache.acquire().await.unwrap();
    let lease = held.lease.clone();
    drop(held);
    assert!(copies.strong_count() > 0);

    cache.invalidate();
    assert_eq!(copies.strong_count(), 0);
    assert_eq!((cache.generation(), resolver.resolves()), (None, 1), "nobody asked for the next one yet");
    let next = cache.acquire().await.unwrap();
    assert_eq!((next.lease.generation().get(), resolver.resolves()), (2, 2));
    assert!(!lease.indict(), "a late failure of the old generation evicts nothing");
    assert_eq!(cache.generation(), Some(next.lease.generation()));
}

#[tokio::test(start_paused = true)]
async fn without_a_handle_nothing_happens() {
    let resolver = ScriptedResolver::new([resolved("a", &"a")]);
    let cache = floored(&resolver);
    cache.invalidate();
    cache.invalidate();
    assert_eq!((cache.generation(), resolver.resolves()), (None, 0));
    let began = Instant::now();
    assert_eq!(cache.acquire().await.unwrap().lease.generation().get(), 1);
    assert_eq!(Instant::now(), began);
}

#[tokio::test(start_paused = true)]
async fn a_resolve_in_flight_lands_nowhere_and_its_callers_get_the_next_one() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("old", &"old").behind(&gate), resolved("new", &"new")]);
    let cache = cache(&resolver);
    let mut callers = [(); 3].map(|()| task::spawn(cache.acquire()));
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    cache.invalidate();
    gate.open();
    for caller in &mut callers {
        let held = assert_ready_ok!(poll_woken(caller));
        assert_eq!((held.handle, held.lease.generation().get()), ("new", 1));
    }
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_resolve_in_flight_that_fails_fails_no_caller() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost).behind(&gate), resolved("new", &"new")]);
    let cache = cache(&resolver);
    let mut caller = task::spawn(cache.acquire());
    assert_pending!(caller.poll());
    cache.invalidate();
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut caller)).handle, "new");
}

#[tokio::test(start_paused = true)]
async fn a_resolve_that_hangs_on_the_old_connection_holds_nobody_up() {
    let resolver = ScriptedResolver::new([Step::hang(), resolved("new", &"new")]);
    let cache = cache(&resolver);
    let mut callers = [(); 3].map(|()| task::spawn(cache.acquire()));
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    cache.invalidate();
    for caller in &mut callers {
        assert_eq!(assert_ready_ok!(poll_woken(caller)).handle, "new");
    }
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 0), "the one that hung was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_look_up_beside_the_live_handle_is_given_up_with_it() {
    let gate = Gate::new();
    let resolver =
        ScriptedResolver::new([resolved("a", &"a"), resolved("old", &"old").behind(&gate), resolved("new", &"new")]);
    let cache = cache(&resolver);
    cache.acquire().await.unwrap();
    let mut refreshing = task::spawn(cache.refresh());
    assert_pending!(refreshing.poll());
    cache.invalidate();
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut refreshing)).handle, "new");
    assert_eq!(cache.generation().unwrap().get(), 2);
}

#[tokio::test(start_paused = true)]
async fn finding_the_same_instance_again_is_what_is_expected_and_no_strike() {
    let resolver = ScriptedResolver::new([resolved("a", &"a")]);
    let cache = floored(&resolver);
    cache.acquire().await.unwrap();
    for _ in 0..10 {
        cache.invalidate();
        let began = Instant::now();
        cache.acquire().await.unwrap();
        assert_eq!(began.elapsed(), STEP, "one step, and never longer");
    }
}

#[tokio::test(start_paused = true)]
async fn strikes_from_before_say_nothing_about_a_new_connection() {
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost), Step::fail(Fault::Lost), Step::fail(Fault::Lost)])
        .then_always(resolved("a", &"a"));
    let cache = floored(&resolver);
    for _ in 0..3 {
        cache.acquire().await.unwrap_err();
    }
    cache.invalidate();
    let began = Instant::now();
    cache.acquire().await.unwrap();
    assert_eq!(began.elapsed(), STEP);
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_while_the_connection_is_replaced_get_a_handle_of_the_new_one() {
    let worker = Worker::new(&Registry::new(), ID);
    let registry = worker.registry.clone();
    // Whoever asks over a connection that the registry has forgotten waits for ever.
    let resolver = service_fn(move |name: &'static str| {
        let registry = registry.clone();
        async move {
            let connection = registry.open(ID);
            if registry.entries(ID).is_empty() && registry.count(Asked::Register) == 0 {
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(Resolved::new(name, connection))
        }
    });
    let cache = HandleCache::builder(resolver, "artifact-manager").resolve_timeout(INTERVAL * 10).build();
    let derived = cache.clone();
    let mut serving = Serving::with(worker, |builder| builder.derives(derived));
    serving.healthy().await;
    serving.registry().evict(ID);
    let waiting = tokio::spawn(async move { cache.acquire().await.map(|held| held.handle) });
    serving.until(|status| status.confirmed == 1).await;
    sleep(seconds(1)).await;
    assert!(waiting.is_finished());
    assert_eq!(waiting.await.unwrap().unwrap(), serving.registry().open(ID));
}

#[tokio::test(start_paused = true)]
async fn handles_are_of_no_use_from_the_first_new_connection_on_even_if_registering_fails() {
    let worker = Worker::new(&Registry::new(), ID);
    let cache = HandleCache::new(ScriptedResolver::new([resolved("a", &"a")]), "artifact-manager");
    let derived = cache.clone();
    let mut serving = Serving::with(worker, |builder| builder.derives(derived));
    serving.healthy().await;
    cache.acquire().await.unwrap();
    serving.registry().evict(ID);
    serving.worker.next(Asked::Register, [Act::FailsForGood("wrong workspace")]);
    serving.until(|status| status.rebuilds == 1).await;
    sleep(LATENCY * 10).await;
    assert_eq!((cache.generation(), serving.status().confirmed), (None, 0));
    serving.healthy().await;
    serving.is_sound();
}
