//! Callers that find no handle share one resolve, its answer and its failure.

use std::{error::Error, sync::Arc, task::Poll, time::Duration};

use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok};
use tower_recovery::{HandleCache, Identity, ResolveError, Resolved};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, ScriptedResolver, Step};

use super::{
    caller, seen,
    support::{Fault, cache, millis, poll_woken, resolved, resolver, yield_once},
};

const CALLERS: usize = 8;

#[tokio::test(start_paused = true)]
async fn callers_that_find_no_handle_share_one_resolve() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a").behind(&gate)]);
    let cache = cache(&resolver);
    let mut callers: Vec<_> = (0..CALLERS).map(|_| caller(&cache)).collect();

    for caller in &mut callers {
        assert_pending!(caller.poll());
        assert!(!caller.is_woken());
    }
    assert_eq!((resolver.resolves(), cache.generation()), (1, None));
    gate.open();
    assert!(callers.iter().all(|caller| caller.is_woken()), "whichever is polled first can go on");
    for caller in &mut callers {
        assert_eq!(seen(&assert_ready_ok!(poll_woken(caller))), ("a", 1));
    }
    assert_eq!(resolver.resolves(), 1);

    let held = cache.acquire().await.unwrap();
    assert_eq!((seen(&held), held.lease.identity()), (("a", 1), &Identity::from("a")));
    assert_eq!(resolver.resolves(), 1, "a live handle is not resolved again");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_comes_late_joins_the_resolve() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([resolved("a", &"a").delayed(millis(200)).behind(&gate)]);
    let cache = cache(&resolver);
    let mut early = caller(&cache);
    assert_pending!(early.poll());
    gate.open();
    assert_pending!(poll_woken(&mut early));

    advance(millis(199)).await;
    let mut late = caller(&cache);
    assert_pending!(late.poll());
    advance(millis(1)).await;
    assert_ready_ok!(poll_woken(&mut late));
    assert_ready_ok!(poll_woken(&mut early));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_resolved_before_somebody_waits() {
    let resolver = resolver([("a", "a")]);
    let cache = cache(&resolver);
    drop(caller(&cache));
    let _unpolled = caller(&cache);
    assert_eq!(resolver.resolves(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_by_pointer_and_not_remembered() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([Step::fail(Fault::NoSuchFile).behind(&gate), resolved("a", &"a")]);
    let cache = cache(&resolver);
    let mut callers: Vec<_> = (0..CALLERS).map(|_| caller(&cache)).collect();
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    gate.open();

    let causes: Vec<_> = callers
        .iter_mut()
        .map(|caller| match assert_ready_err!(poll_woken(caller)) {
            ResolveError::Failed(cause) => cause,
            other => panic!("the resolver failed by itself, and not by {other}"),
        })
        .collect();
    assert!(causes.iter().all(|cause| Arc::ptr_eq(cause, &causes[0])));
    assert_eq!(causes[0].downcast_ref(), Some(&Fault::NoSuchFile));
    assert_eq!((resolver.resolves(), cache.generation()), (1, None));

    assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
}

#[tokio::test(start_paused = true)]
async fn the_cause_of_a_failed_resolve_is_the_source_of_its_error() {
    let cache = cache(&ScriptedResolver::<&str>::new([Step::fail(Fault::NoSuchFile)]));
    let error = cache.acquire().await.unwrap_err();
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&Fault::NoSuchFile));
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_panics_is_an_error_of_all_who_wait_and_of_nobody_else() {
    let gate = Gate::new();
    for panics in [Step::panic_in_call(), Step::panic_in_poll(), Step::panic_in_poll().behind(&gate)] {
        let resolver = ScriptedResolver::new([panics, resolved("a", &"a")]);
        let cache = cache(&resolver);
        let mut first = caller(&cache);
        let mut second = caller(&cache);
        match first.poll() {
            Poll::Ready(outcome) => assert!(matches!(outcome, Err(ResolveError::Panicked))),
            Poll::Pending => {
                assert_pending!(second.poll());
                gate.open();
                for caller in [&mut first, &mut second] {
                    assert!(matches!(assert_ready_err!(poll_woken(caller)), ResolveError::Panicked));
                }
            }
        }
        assert_eq!((resolver.resolves(), resolver.in_flight()), (1, 0));
        assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_cannot_be_readied_fails_the_resolve() {
    let resolver = ScriptedResolver::new([Step::fail_ready(Fault::Lost), resolved("a", &"a")]);
    let cache = cache(&resolver);

    let error = cache.acquire().await.unwrap_err();
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&Fault::Lost));
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
}

#[tokio::test(start_paused = true)]
async fn a_resolver_is_readied_before_each_call() {
    let slow = ReadyStep::Pending { times: 2 };
    let probe = ReadinessProbe::new(ScriptedReadiness::new(resolver([("a", "a"), ("b", "b")]), [slow]));
    let counts = probe.counts();
    let cache: HandleCache<&str> =
        HandleCache::builder(probe, "service").resolve_floor(Duration::ZERO, Duration::ZERO).build();

    let held = cache.acquire().await.unwrap();
    assert!(held.lease.indict());
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("b", 2));
    assert_eq!((counts.called(), counts.called_unready()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_resolve_has_its_own_limit() {
    let resolver = ScriptedResolver::new([Step::hang(), resolved("a", &"a")]);
    let cache: HandleCache<&str> =
        HandleCache::builder(resolver.clone(), "service").resolve_timeout(millis(500)).build();
    let mut callers = [caller(&cache), caller(&cache)];
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }

    advance(millis(499)).await;
    assert!(callers.iter().all(|caller| !caller.is_woken()), "just before the limit nothing happens");
    advance(millis(1)).await;
    for caller in &mut callers {
        let error = assert_ready_err!(poll_woken(caller));
        assert!(matches!(error, ResolveError::TimedOut(limit) if limit == millis(500)), "{error}");
    }
    assert_eq!((resolver.resolves(), resolver.in_flight(), resolver.dropped()), (1, 0, 1));
    assert_eq!(seen(&cache.acquire().await.unwrap()), ("a", 1));
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_wakes_while_it_is_polled_is_polled_on() {
    // Pending thrice, and awake each time: the wake-up comes while the resolver is out of its place.
    let restless = tower::service_fn(|_: &str| async {
        for _ in 0..3 {
            yield_once().await;
        }
        Ok::<_, Fault>(Resolved::new("a", "a"))
    });
    let cache = HandleCache::new(restless, "service");
    let mut callers = [caller(&cache), caller(&cache)];
    assert_pending!(callers[0].poll());
    assert_pending!(callers[1].poll());
    assert!(callers[0].is_woken(), "who polled the resolver is woken by it");
    let [first, second] = &mut callers;
    assert_pending!(poll_woken(first));
    assert_eq!(seen(&assert_ready_ok!(poll_woken(second))), ("a", 1));
    assert_eq!(seen(&assert_ready_ok!(poll_woken(first))), ("a", 1));
}
