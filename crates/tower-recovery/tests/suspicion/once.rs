//! No call is suspected twice.

use std::time::Duration;

use tokio_test::{assert_ready_ok, task};
use tower::ServiceExt;
use tower_recovery_test::{Gate, ScriptedResolver};

use super::{
    Events, SURELY_DUE, SUSPECT_AFTER, answering_after, frozen, pass, poll_pending, stack,
    support::{Call, Fault, Reply, attempts, backend, done, fails, millis, poll_woken, recovering, resolved, resolver},
    suspecting,
};

#[tokio::test(start_paused = true)]
async fn a_read_whose_instance_is_named_again_waits_on_with_one_look_up_however_long() {
    let events = Events::default();
    let old = answering_after("a", SUSPECT_AFTER * 60);
    let resolver = resolver([("a", old.clone()), ("a", backend([done("another handle to a")]))]);
    let stack = recovering(suspecting(&resolver).observer(events.observer()).build(), attempts(3));
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), events.suspicions(), old.calls(), old.dropped()), (2, 1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_that_freezes_too_is_not_suspected() {
    let second = answering_after("b", SUSPECT_AFTER * 60);
    let resolver = resolver([("a", frozen()), ("b", second.clone()), ("c", backend([done("c")]))]);
    assert_eq!(stack(&resolver).oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert_eq!((resolver.resolves(), second.calls(), second.dropped()), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_after_an_ordinary_failure_is_not_suspected_either() {
    let old = backend([fails(Fault::NotWritten), done("a").delayed(SUSPECT_AFTER * 60)]);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    assert_eq!(stack(&resolver).oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), old.calls()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn each_call_is_suspected_for_itself() {
    let old = answering_after("a", SUSPECT_AFTER * 5);
    let resolver = ScriptedResolver::new([resolved("a", &old)]);
    let stack = stack(&resolver);
    for calls in 1..=3 {
        assert_eq!(stack.clone().oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
        assert_eq!(resolver.resolves(), 1 + calls);
    }
}

/// The attempt itself is never woken: it is the tick that wakes the call, and the registry's answer.
#[tokio::test(start_paused = true)]
async fn the_call_is_woken_when_it_is_due_and_when_the_registry_answers_and_never_else() {
    let gate = Gate::new();
    let (old, new) = (frozen(), backend([done("b")]));
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).behind(&gate)]);
    let mut call = task::spawn(stack(&resolver).oneshot(Call::read()));
    poll_pending(&mut call);
    pass(SUSPECT_AFTER).await;
    assert!(!call.is_woken(), "it is not due yet");
    pass(SURELY_DUE - SUSPECT_AFTER).await;
    assert_eq!(resolver.resolves(), 1, "whoever is due asks for itself");
    assert!(call.is_woken());
    poll_pending(&mut call);
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 1));
    pass(Duration::from_secs(5)).await;
    assert!(!call.is_woken(), "it waits for the registry");

    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_suspected_in_vain_is_woken_by_its_answer_alone() {
    let gate = Gate::new();
    let old = backend([done("a").behind(&gate)]);
    let resolver = ScriptedResolver::new([resolved("a", &old)]);
    let mut call = task::spawn(stack(&resolver).oneshot(Call::read()));
    poll_pending(&mut call);
    pass(SURELY_DUE).await;
    assert!(call.is_woken());
    poll_pending(&mut call);
    assert_eq!(resolver.resolves(), 2);
    pass(SUSPECT_AFTER * 20).await;
    assert!(!call.is_woken(), "nothing more is to be done about it");
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
}

/// A call that is polled for reasons of its own, or late, is suspected as if it had been woken.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_polled_often_is_suspected_when_it_is_due_and_not_before() {
    let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
    let stack = stack(&resolver);
    let mut call = task::spawn(stack.oneshot(Call::read()));
    for passed in 0..200 {
        if let std::task::Poll::Ready(reply) = call.poll() {
            assert_eq!(reply.unwrap(), Reply::Done("b"));
            assert!((100..=110).contains(&passed), "{passed}");
            return;
        }
        pass(millis(10)).await;
    }
    panic!("it was never given up");
}
