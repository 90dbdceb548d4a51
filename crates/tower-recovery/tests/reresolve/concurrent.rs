//! Many calls at once: one resolve, one eviction, nobody on the evicted handle.

use std::sync::Arc;

use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::ServiceExt;
use tower_recovery::{Delivery, ResolveError};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::support::{Call, Fault, Reply, backend, cache, done, fails, millis, poll_woken, reresolving, resolved};

const CALLERS: usize = 8;

#[tokio::test]
async fn calls_that_find_no_handle_share_one_resolve() {
    let gate = Gate::new();
    let handle = backend([done("a")]);
    let resolver = ScriptedResolver::new([resolved("a", &handle).behind(&gate)]);
    let stack = reresolving(cache(&resolver));
    let mut calls: Vec<_> = (0..CALLERS).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    gate.open();
    for call in &mut calls {
        assert_eq!(assert_ready_ok!(poll_woken(call)), Reply::Done("a"));
    }
    assert_eq!((resolver.resolves(), handle.calls()), (1, CALLERS));
}

#[tokio::test]
async fn calls_that_fail_together_cause_one_resolve() {
    let gate = Gate::new();
    let old = backend([fails(Fault::Lost).behind(&gate)]);
    let new = backend([done("b")]);
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new)]);
    let cache = cache(&resolver);
    let stack = reresolving(cache.clone());
    let mut calls: Vec<_> = (0..CALLERS).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    gate.open();
    for call in &mut calls {
        assert_ready_err!(poll_woken(call));
        // Between the failures others have gone on to the new handle: the late ones must not evict it.
        assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    }
    assert_eq!((resolver.resolves(), cache.generation().unwrap().get()), (2, 2));
    assert_eq!((old.calls(), new.calls()), (CALLERS, CALLERS));
}

#[tokio::test]
async fn calls_that_arrive_during_a_resolve_wait_and_none_goes_to_the_evicted_handle() {
    let gate = Gate::new();
    let old = backend([done("a"), fails(Fault::Lost), done("a")]);
    let new = backend([done("b")]);
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).behind(&gate)]);
    let mut stack = reresolving(cache(&resolver));
    // This clone holds a copy of the old handle.
    tower::Service::call(stack.ready().await.unwrap(), Call::write()).await.unwrap();
    tower::Service::call(stack.ready().await.unwrap(), Call::write()).await.unwrap_err();

    let mut calls: Vec<_> = (0..CALLERS).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    assert_eq!(old.calls(), 2);
    gate.open();
    for call in &mut calls {
        assert_eq!(assert_ready_ok!(poll_woken(call)), Reply::Done("b"));
    }
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (2, CALLERS, 2));
}

#[tokio::test]
async fn a_failed_resolve_is_the_same_error_for_all() {
    let gate = Gate::new();
    let resolver =
        ScriptedResolver::new([Step::fail(Fault::NoSuchFile).behind(&gate), resolved("a", &backend([done("a")]))]);
    let stack = reresolving(cache(&resolver));
    let mut calls: Vec<_> = (0..CALLERS).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    gate.open();
    let failures: Vec<_> = calls.iter_mut().map(|call| assert_ready_err!(poll_woken(call))).collect();
    let causes: Vec<_> = failures
        .iter()
        .map(|failure| match failure.find() {
            Some(ResolveError::Failed(cause)) => cause,
            other => panic!("the resolver failed by itself, and not by {other:?}"),
        })
        .collect();
    assert!(causes.iter().all(|cause| Arc::ptr_eq(cause, causes[0])));
    assert_eq!(resolver.resolves(), 1);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test]
async fn all_calls_dropped_end_the_resolve() {
    let resolver = ScriptedResolver::new([Step::hang(), resolved("a", &backend([done("a")]))]);
    let stack = reresolving(cache(&resolver));
    let mut calls: Vec<_> = (0..CALLERS).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    drop(calls);
    assert_eq!((resolver.resolves(), resolver.dropped(), resolver.in_flight()), (1, 1, 0));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_and_never_polled_again_strands_no_other() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([done("a")])).delayed(millis(200))]);
    let stack = reresolving(cache(&resolver));
    let mut held = task::spawn(stack.clone().oneshot(Call::write()));
    let mut other = task::spawn(stack.oneshot(Call::write()));
    assert_pending!(held.poll());
    assert_pending!(other.poll());
    advance(millis(200)).await;
    assert_eq!(assert_ready_ok!(poll_woken(&mut other)), Reply::Done("a"));
    drop(held);
}

#[tokio::test]
async fn stacks_over_one_cache_share_its_handle() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([done("a"), fails(Fault::Lost)]))]);
    let cache = cache(&resolver);
    let [one, other] = [reresolving(cache.clone()), reresolving(cache.clone())];
    one.oneshot(Call::write()).await.unwrap();
    assert_eq!(other.oneshot(Call::write()).await.unwrap_err().delivery(), Some(Delivery::MaybeSent));
    assert_eq!((resolver.resolves(), cache.generation()), (1, None));
}
