//! Resolvers that are told who was evicted: whom they hear of, when, and what becomes of an answer that was asked for before.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::{Instant, advance};
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{BoxError, ServiceExt, service_fn};
use tower_recovery::{HandleCache, HandleCacheBuilder, Identity, LookUp, RecoveryEvent, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    Name, caller, seen,
    support::{Call, Fault, Reply, attempts, backend, done, fails, millis, poll_woken, recovering, resolved, resolver},
};

const FLOOR: Duration = Duration::from_millis(100);

/// Of whom a resolver was told, each time it was asked.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Option<String>>>>);

impl Told {
    fn hear<Target>(&self, look_up: LookUp<Target>) -> Target {
        self.0.lock().unwrap().push(look_up.evicted.map(|identity| identity.to_string()));
        look_up.target
    }

    #[track_caller]
    fn assert(&self, told: &[Option<&str>]) {
        assert_eq!(self.0.lock().unwrap().iter().map(Option::as_deref).collect::<Vec<_>>(), told);
    }
}

/// A cache whose resolver answers by the script whatever it is told, with a floor that counts exactly.
fn telling(resolver: &ScriptedResolver<Name>) -> (HandleCacheBuilder<Name>, Told) {
    let told = Told::default();
    let hears = told.clone();
    let resolver = resolver.clone().map_request(move |look_up| hears.hear(look_up));
    let builder = HandleCache::telling_of_evictions(resolver, "service");
    (builder.resolve_floor(FLOOR, millis(500)).exact_floor(), told)
}

/// A registry that lists two instances, the frozen one first, asked by a resolver that takes the first that it may.
#[tokio::test(start_paused = true)]
async fn a_call_gets_past_a_dead_instance_that_the_registry_goes_on_listing_first() {
    let dead = backend([fails(Fault::ConnectionRefused)]);
    let sound = backend([done("b")]);
    let listed = [("a", dead.clone()), ("b", sound.clone())];
    let told = Told::default();
    let hears = told.clone();
    let resolver = service_fn(move |look_up: LookUp<&'static str>| {
        let chosen = listed.iter().find(|(identity, _)| !look_up.avoids(&Identity::from(*identity)));
        let resolved = chosen.map(|(identity, handle)| Resolved::new(*identity, handle.clone()));
        assert_eq!(hears.hear(look_up), "service");
        async move { resolved.ok_or_else(|| BoxError::from("nobody is left")) }
    });
    let stack = recovering(HandleCache::telling_of_evictions(resolver, "service").build(), attempts(2));
    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((dead.calls(), sound.calls()), (1, 2));
    told.assert(&[None, Some("a")]);
}

#[tokio::test(start_paused = true)]
async fn a_resolver_hears_of_an_eviction_until_it_finds_somebody() {
    let resolver = ScriptedResolver::new([
        resolved("a", &"a"),
        Step::fail(Fault::Lost),
        Step::hang(),
        resolved("b", &"b"),
        resolved("c", &"c"),
    ]);
    let (builder, told) = telling(&resolver);
    let cache = builder.resolve_timeout(millis(50)).build();
    cache.acquire().await.unwrap().lease.indict();
    cache.acquire().await.unwrap_err();
    cache.acquire().await.unwrap_err();
    cache.acquire().await.unwrap().lease.indict();
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("c", 3));
    told.assert(&[None, Some("a"), Some("a"), Some("a"), Some("b")]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_named_to_a_look_up_beside_a_handle_that_serves() {
    let (builder, told) = telling(&resolver([("a", "a"), ("b", "b"), ("b", "b"), ("c", "c")]));
    let cache = builder.build();
    cache.acquire().await.unwrap().lease.indict();
    cache.acquire().await.unwrap();
    assert_eq!(seen(&cache.refresh().await.unwrap()), ("b", 2));
    assert_eq!(seen(&cache.refresh().await.unwrap()), ("c", 3));
    told.assert(&[None, Some("a"), None, None]);
}

#[tokio::test(start_paused = true)]
async fn an_invalidation_says_nothing_against_anybody() {
    let (builder, told) = telling(&resolver([("a", "a")]));
    let cache = builder.build();
    cache.acquire().await.unwrap();
    cache.invalidate();
    cache.acquire().await.unwrap().lease.indict();
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll(), "within the floor");
    cache.invalidate();
    assert_eq!(seen(&waiting.await.unwrap()), ("a", 3));
    told.assert(&[None, None, None]);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_waits_for_the_floor_hears_of_an_eviction_in_the_meantime() {
    let resolver = resolver([("a", "a"), ("b", "b")]);
    let (builder, told) = telling(&resolver);
    let cache = builder.build();
    let held = cache.acquire().await.unwrap();
    let mut refreshing = task::spawn(cache.refresh());
    assert_pending!(refreshing.poll());
    held.lease.indict();
    assert_eq!(seen(&refreshing.await.unwrap()), ("b", 2));
    assert_eq!(resolver.resolves(), 2);
    told.assert(&[None, Some("a")]);
}

/// The registry was asked before the eviction, and could not know: it is asked once more, by all who wait together, and not within the floor.
#[tokio::test(start_paused = true)]
async fn a_look_up_that_did_not_know_and_finds_the_evicted_instance_is_asked_once_more() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("a", &"a").behind(&gate), resolved("b", &"b")]);
    let (builder, told) = telling(&resolver);
    let events = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&events);
    let cache = builder.observer(move |event: &RecoveryEvent| sees.lock().unwrap().push(event.clone())).build();
    let held = cache.acquire().await.unwrap();
    advance(FLOOR).await;
    let mut refreshing = task::spawn(cache.refresh());
    assert_pending!(refreshing.poll());
    held.lease.indict();
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll(), "it joins the look-up");

    gate.open();
    assert_pending!(poll_woken(&mut refreshing));
    assert_pending!(poll_woken(&mut waiting));
    let answered = Instant::now();
    assert_eq!((resolver.resolves(), cache.generation()), (2, None));
    assert_eq!(seen(&waiting.await.unwrap()), ("b", 2));
    assert_eq!(answered.elapsed(), FLOOR, "what the look-up found is no strike");
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut refreshing))), ("b", 2));
    assert_eq!(resolver.resolves(), 3);
    told.assert(&[None, None, Some("a")]);

    let events = events.lock().unwrap();
    let found = events.iter().filter_map(|event| match event {
        RecoveryEvent::HandleResolved { identity, previous, .. } => Some((identity.clone(), previous.clone())),
        _ => None,
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found, [("a".into(), None), ("b".into(), Some("a".into()))], "the dropped answer is no new handle");
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_did_not_know_and_finds_somebody_else_is_taken() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]);
    let (builder, told) = telling(&resolver);
    let cache = builder.build();
    let held = cache.acquire().await.unwrap();
    advance(FLOOR).await;
    let mut refreshing = task::spawn(cache.refresh());
    assert_pending!(refreshing.poll());
    held.lease.indict();
    gate.open();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut refreshing))), ("b", 2));
    told.assert(&[None, None]);
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_is_told_of_nothing_is_not_asked_once_more() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("a", &"a").behind(&gate)]);
    let cache = super::support::cache(&resolver);
    let held = cache.acquire().await.unwrap();
    let mut refreshing = task::spawn(cache.refresh());
    assert_pending!(refreshing.poll());
    held.lease.indict();
    gate.open();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut refreshing))), ("a", 2));
    assert_eq!(resolver.resolves(), 2);
}

/// It may have nobody else. That is no loop: the instance is taken, and the floor grows.
#[tokio::test(start_paused = true)]
async fn a_resolver_that_names_the_evicted_instance_all_the_same_is_believed_and_asked_less_often() {
    let (builder, told) = telling(&resolver([("a", "a")]));
    let cache = builder.build();
    let mut pauses = Vec::new();
    for generation in 1..=5 {
        let started = Instant::now();
        let held = cache.acquire().await.unwrap();
        assert_eq!(seen(&held), ("a", generation));
        pauses.push(started.elapsed().as_millis());
        held.lease.indict();
    }
    assert_eq!(pauses, [0, 100, 100, 200, 300]);
    told.assert(&[None, Some("a"), Some("a"), Some("a"), Some("a")]);
}

#[test]
fn a_look_up_is_passed_on_with_another_target_and_whom_it_avoids() {
    let look_up = LookUp::new(7).after_eviction_of("a").map(|number| number.to_string());
    assert_eq!(look_up, LookUp::new("7".to_owned()).after_eviction_of("a"));
    assert!(look_up.avoids(&Identity::from("a")) && !look_up.avoids(&Identity::from("b")));
    assert!(!LookUp::new(7).avoids(&Identity::from("a")));
    let beside = LookUp::new(7).beside("a").map(|number| number.to_string());
    assert_eq!((beside.serving, beside.evicted), (Some(Identity::from("a")), None));
}
