//! Eviction by generation, and what a lease learns of it.

use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};
use tower_recovery::{Generation, HandleCache, Renewal};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    caller, seen,
    support::{Fault, Tracked, cache, poll_woken, resolved, resolver},
};

#[tokio::test(start_paused = true)]
async fn the_generation_grows_by_one_with_every_handle() {
    let cache = cache(&resolver([("a", "a"), ("b", "b"), ("c", "c")]));
    for (number, name) in (1..).zip(["a", "b", "c"]) {
        let held = cache.acquire().await.unwrap();
        assert_eq!(seen(&held), (name, number));
        assert_eq!(cache.generation(), Some(held.lease.generation()));
        assert!(cache.evict(held.lease.generation()));
        assert_eq!(cache.generation(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_failure_of_an_old_generation_evicts_nothing() {
    let resolver = resolver([("a", "a"), ("b", "b")]);
    let cache = cache(&resolver);
    let old = cache.acquire().await.unwrap();
    assert!(old.lease.indict());
    assert!(!old.lease.indict(), "it is evicted already");
    let new = cache.acquire().await.unwrap();

    assert!(!old.lease.indict());
    assert!(!cache.evict(Generation::FIRST));
    assert_eq!(cache.generation(), Some(new.lease.generation()));
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_generation_that_is_yet_to_come_cannot_be_evicted() {
    let other = cache(&resolver([("x", "x"), ("y", "y")]));
    other.evict(other.acquire().await.unwrap().lease.generation());
    let second = other.acquire().await.unwrap().lease.generation();

    let cache = cache(&resolver([("a", "a")]));
    assert!(!cache.evict(second), "there is no handle yet");
    cache.acquire().await.unwrap();
    assert!(!cache.evict(second));
    assert_eq!(cache.generation(), Some(Generation::FIRST));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_while_a_resolve_is_under_way_changes_nothing() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]);
    let cache = cache(&resolver);
    let old = cache.acquire().await.unwrap();
    old.lease.indict();
    let mut waiting = caller(&cache);
    assert_pending!(waiting.poll());

    assert!(!old.lease.indict());
    gate.open();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut waiting))), ("b", 2));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn callers_wait_for_the_new_handle_and_never_get_the_evicted_one() {
    let gate = Gate::new();
    let cache = cache(&ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]));
    cache.acquire().await.unwrap().lease.indict();

    let mut callers = [caller(&cache), caller(&cache)];
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    gate.open();
    for caller in &mut callers {
        assert_eq!(seen(&assert_ready_ok!(poll_woken(caller))), ("b", 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_handle_was_evicted_before_it_looked_waits_on() {
    let gates = [Gate::new(), Gate::new()];
    let resolver =
        ScriptedResolver::new([resolved("a", &"a").behind(&gates[0]), resolved("b", &"b").behind(&gates[1])]);
    let cache = cache(&resolver);
    let mut quick = caller(&cache);
    let mut slow = caller(&cache);
    assert_pending!(quick.poll());
    assert_pending!(slow.poll());
    gates[0].open();
    assert!(assert_ready_ok!(poll_woken(&mut quick)).lease.indict());

    assert_pending!(poll_woken(&mut slow));
    gates[1].open();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut slow))), ("b", 2));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lease_learns_what_became_of_its_handle() {
    let resolver = ScriptedResolver::new([
        resolved("a", &"first"),
        resolved("a", &"second"),
        resolved("b", &"third"),
        Step::fail(Fault::Lost),
    ]);
    let cache = cache(&resolver);
    let first = cache.acquire().await.unwrap().lease;
    assert!(matches!(first.renew().await, Renewal::Unchanged));
    assert_eq!(resolver.resolves(), 1, "while the handle lives nobody is asked");

    first.indict();
    assert!(matches!(first.renew().await, Renewal::SameIdentity));
    let second = cache.acquire().await.unwrap().lease;
    second.indict();
    assert!(matches!(second.renew().await, Renewal::NewIdentity));
    cache.acquire().await.unwrap().lease.indict();
    assert!(matches!(second.renew().await, Renewal::Failed(_)));
}

#[tokio::test(start_paused = true)]
async fn renewals_and_callers_share_one_resolve() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a"), resolved("b", &"b").behind(&gate)]);
    let cache = cache(&resolver);
    let lease = cache.acquire().await.unwrap().lease;
    lease.indict();

    let mut renewal = task::spawn(lease.renew());
    let mut waiting = caller(&cache);
    assert_pending!(renewal.poll());
    assert_pending!(waiting.poll());
    gate.open();
    assert!(matches!(assert_ready!(poll_woken(&mut renewal)), Renewal::NewIdentity));
    assert_ready_ok!(poll_woken(&mut waiting));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_evicted_handle_is_closed_with_its_last_user() {
    let handle = Tracked::new("a");
    let copies = handle.copies();
    // The scripted resolver would keep a copy for its next answer.
    let mut handles = vec![handle];
    let resolver = Step::answer_with(move || tower_recovery::Resolved::new("a", handles.pop().unwrap()));
    let cache: HandleCache<Tracked<&str>> = HandleCache::new(ScriptedResolver::new([resolver]), "service");

    let user = cache.acquire().await.unwrap();
    assert!(user.lease.indict());
    assert_eq!(copies.strong_count(), 1, "the cache has let go of it, its user has not");
    let lease = user.lease.clone();
    drop(user);
    assert_eq!(copies.strong_count(), 0, "a lease holds no handle");
    assert!(!lease.indict());
}
