//! What every layer owes, and how a call that waits for its handle may end.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{Service, ServiceExt, limit::ConcurrencyLimit};
use tower_recovery::{
    Addressed, Delivery, HandleCache, Identity, NotReady, ResolveError, Verdict, reresolve::Reresolve,
};
use tower_recovery_test::{
    Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, ScriptedResolver, ScriptedService, Step,
};

use super::support::{
    Call, Fault, Reply, backend, cache, contract, done, fails, poll_woken, reresolving, resolved, resolver,
};

/// The inner service of the layer alone.
fn inner(steps: impl IntoIterator<Item = Step<Reply>>) -> ScriptedService<Addressed<&'static str, Call>, Reply> {
    ScriptedService::new(steps)
}

fn one_handle() -> HandleCache<&'static str> {
    cache(&resolver([("a", "handle")]))
}

#[tokio::test]
async fn request_and_answer_pass_untouched_with_handle_and_lease() {
    let inner = inner([done("a")]);
    let mut stack = Reresolve::new(inner.clone(), one_handle());
    let call = Call::counted_read().with_key(7).with_silent(false);
    for _ in 0..2 {
        assert_eq!(stack.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Done("a"));
    }
    for addressed in inner.requests() {
        assert_eq!((addressed.request, addressed.handle), (call.clone(), "handle"));
        assert_eq!((addressed.lease.identity(), addressed.lease.generation().get()), (&Identity::from("a"), 1));
    }
}

#[tokio::test]
async fn an_error_passes_with_the_lease_of_its_handle() {
    let resolver = resolver([("a", backend([fails(Fault::NoSuchFile)]))]);
    let failure = reresolving(cache(&resolver)).oneshot(Call::write()).await.unwrap_err();

    assert_eq!(failure.verdict(), Fault::NoSuchFile.verdict());
    assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&Fault::NoSuchFile));
    assert_eq!(failure.lease().unwrap().generation().get(), 1);
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test]
async fn a_resolve_that_fails_is_never_sent_and_gives_the_request_back() {
    let resolver = ScriptedResolver::new([Step::fail(Fault::NoSuchFile), resolved("a", &backend([done("a")]))]);
    let stack = reresolving(cache(&resolver));

    let failure = stack.clone().oneshot(Call::write().with_key(7)).await.unwrap_err();
    assert_eq!(failure.verdict(), Verdict::never_sent(), "the answer of a registry is no answer of the service");
    assert!(failure.cause().unwrap().is::<ResolveError>());
    assert_eq!(failure.find::<Fault>(), Some(&Fault::NoSuchFile));
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(7)));
    assert!(failure.lease().is_none());

    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test]
async fn nothing_is_resolved_by_poll_ready() {
    let resolver = ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::fail(Fault::Lost)]);
    let mut stack = reresolving(cache(&resolver));
    stack.ready().await.unwrap();
    assert_eq!(resolver.resolves(), 0);
    stack.call(Call::write()).await.unwrap_err();
    stack.ready().await.map(drop).unwrap();
}

#[tokio::test]
async fn an_error_of_poll_ready_below_is_never_sent() {
    let broken = ScriptedReadiness::new(inner([]), [ReadyStep::Fail(Fault::Lost.into())]);
    let failure = Reresolve::new(broken, one_handle()).ready().await.map(drop).unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert!(failure.cause().unwrap().is::<NotReady>());
}

#[tokio::test]
async fn it_calls_only_what_was_readied() {
    let probe = ReadinessProbe::new(inner([done("a")]));
    let counts = probe.counts();
    contract::it_calls_only_what_was_readied(Reresolve::new(probe, one_handle()), &counts).await;
}

#[tokio::test]
async fn it_calls_only_what_was_readied_while_there_is_no_handle() {
    // Each call evicts the handle, so that each of the next has to wait for another one.
    let probe = ReadinessProbe::new(inner([fails(Fault::Lost)]));
    let counts = probe.counts();
    let stack =
        Reresolve::new(tower_recovery::classify::ClassifyService::new(probe, super::support::Protocol), one_handle());
    for _ in 0..3 {
        let mut ready = stack.clone();
        ready.ready().await.unwrap();
        let mut clone = ready.clone();
        clone.ready().await.unwrap().call(Call::write()).await.unwrap_err();
        ready.call(Call::write()).await.unwrap_err();
    }
    assert_eq!((counts.called_unready(), counts.called(), counts.ready_now()), (0, 6, 0));
}

#[tokio::test]
async fn the_instance_that_was_readied_waits_with_the_call() {
    let gate = Gate::new();
    let probe = ReadinessProbe::new(inner([done("a")]));
    let counts = probe.counts();
    let resolver = ScriptedResolver::new([resolved("a", &"handle").behind(&gate)]);
    let mut stack = Reresolve::new(probe, cache(&resolver));
    let mut waiting = task::spawn(stack.ready().await.unwrap().call(Call::write()));

    assert_pending!(waiting.poll());
    assert_eq!((counts.readied(), counts.ready_now()), (1, 1));
    gate.open();
    assert_ready_ok!(poll_woken(&mut waiting));
    assert_eq!((counts.readied(), counts.called(), counts.dropped_ready()), (1, 1, 0));
}

#[tokio::test]
async fn a_clone_starts_unready_and_a_dropped_instance_frees_its_slot() {
    for warm in [false, true] {
        let limited = ConcurrencyLimit::new(inner([done("a")]), 1);
        let mut stack = Reresolve::new(limited, one_handle());
        if warm {
            stack.ready().await.unwrap().call(Call::write()).await.unwrap();
        }
        contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(stack).await;
    }
}

#[tokio::test]
async fn a_dropped_call_frees_its_slot_while_it_waits_for_a_handle() {
    let limited = ConcurrencyLimit::new(inner([]), 1);
    let resolver = ScriptedResolver::new([Step::hang()]);
    contract::a_dropped_call_frees_its_slot(Reresolve::new(limited, cache(&resolver)));
    assert_eq!(resolver.in_flight(), 0);
}

#[tokio::test]
async fn a_dropped_call_frees_its_slot_within_its_attempt() {
    let limited = ConcurrencyLimit::new(inner([done("a"), Step::hang()]), 1);
    let mut stack = Reresolve::new(limited, one_handle());
    stack.ready().await.unwrap().call(Call::write()).await.unwrap();
    contract::a_dropped_call_frees_its_slot(stack);
}

#[tokio::test]
async fn a_call_dropped_unpolled_resolves_nothing() {
    let resolver = resolver([("a", backend([done("a")]))]);
    let mut stack = reresolving(cache(&resolver));
    drop(stack.ready().await.unwrap().call(Call::write()));
    assert_eq!(resolver.resolves(), 0);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test]
async fn a_call_dropped_within_its_attempt_evicts_nothing() {
    let handle = backend([Step::hang(), done("a")]);
    let resolver = resolver([("a", handle.clone())]);
    let stack = reresolving(cache(&resolver));
    let mut call = task::spawn(stack.clone().oneshot(Call::write()));
    assert_pending!(call.poll());
    assert_eq!(handle.in_flight(), 1);
    drop(call);
    assert_eq!((handle.in_flight(), handle.dropped()), (0, 1));

    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test]
async fn wake_ups_reach_a_call_in_both_of_its_stages() {
    let gates = [Gate::new(), Gate::new()];
    let handle = backend([fails(Fault::Lost).behind(&gates[1])]);
    let resolver = ScriptedResolver::new([resolved("a", &handle).behind(&gates[0])]);
    let mut call = task::spawn(reresolving(cache(&resolver)).oneshot(Call::write()));

    assert_pending!(call.poll());
    gates[0].open();
    assert_pending!(poll_woken(&mut call));
    // Whoever drives the resolve is woken by its end with all the others, once for nothing.
    assert_pending!(call.poll());
    assert!(!call.is_woken());
    gates[1].open();
    assert_ready_err!(poll_woken(&mut call));
}

#[tokio::test]
async fn a_panicking_resolver_is_an_error_of_those_who_wait() {
    let handle = backend([done("a")]);
    let resolver = ScriptedResolver::new([Step::panic_in_call(), Step::panic_in_poll(), resolved("a", &handle)]);
    let stack = reresolving(cache(&resolver));
    for _ in 0..2 {
        let failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
        assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
        assert!(matches!(failure.find(), Some(ResolveError::Panicked)));
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test]
async fn a_panicking_handle_takes_down_its_own_call_alone() {
    let gate = Gate::new();
    let handle = backend([done("a").behind(&gate), Step::panic_in_call(), Step::panic_in_poll(), done("a")]);
    let resolver = resolver([("a", handle)]);
    let stack = reresolving(cache(&resolver));
    let mut beside = task::spawn(stack.clone().oneshot(Call::write()));
    assert_pending!(beside.poll());

    for _ in 0..2 {
        let call = stack.clone().oneshot(Call::write());
        assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut beside)), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 1);
}
