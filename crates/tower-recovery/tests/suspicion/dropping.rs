//! A call that is dropped leaves nothing behind, whatever its suspicion has come to.

use std::time::Duration;

use tokio_test::task;
use tower::ServiceExt;
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    SURELY_DUE, SUSPECT_AFTER, frozen, pass, poll_pending, stack,
    support::{Call, backend, done, poll_woken, resolved},
    tasks,
};

/// The time after which nobody ticks any more once nobody waits.
const QUIET: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_any_state_leaves_no_look_up_no_attempt_and_no_task() {
    // Never polled; waiting from its first poll; just before it is due; due and not polled; asking.
    for (state, (time, asks)) in [(None, 0), (Some(Duration::ZERO), 0), (Some(SUSPECT_AFTER), 0), (Some(SURELY_DUE), 0)]
        .into_iter()
        .chain([(Some(SURELY_DUE), 1)])
        .enumerate()
    {
        let old = frozen();
        let resolver = ScriptedResolver::new([resolved("a", &old), Step::hang()]);
        let mut call = task::spawn(stack(&resolver).oneshot(Call::read()));
        if let Some(time) = time {
            poll_pending(&mut call);
            pass(time).await;
        }
        if asks > 0 {
            assert!(call.is_woken());
            poll_pending(&mut call);
            assert_eq!(resolver.in_flight(), 1);
        }
        drop(call);
        assert_eq!((resolver.in_flight(), old.in_flight()), (0, 0), "{state}");
        pass(QUIET).await;
        assert_eq!(resolver.resolves() + usize::from(time.is_none()), 1 + asks, "{state}: nothing more is begun");
        assert_eq!(tasks(), 0, "{state}: the tick has ended");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_takes_the_look_up_from_nobody() {
    let gate = Gate::new();
    let new = backend([done("b")]);
    let resolver = ScriptedResolver::new([resolved("a", &frozen()), resolved("b", &new).behind(&gate)]);
    let stack = stack(&resolver);
    let mut calls = [(); 3].map(|()| Some(task::spawn(stack.clone().oneshot(Call::read()))));
    for call in calls.iter_mut().flatten() {
        poll_pending(call);
    }
    pass(SURELY_DUE).await;
    for call in calls.iter_mut().flatten() {
        assert!(call.is_woken());
        poll_pending(call);
    }
    calls[0] = None;
    calls[1] = None;
    assert_eq!(resolver.in_flight(), 1);
    gate.open();
    let reply = tokio_test::assert_ready_ok!(poll_woken(calls[2].as_mut().unwrap()));
    assert_eq!((reply, resolver.resolves(), new.calls()), (super::support::Reply::Done("b"), 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stack_and_a_cache_that_are_dropped_in_the_middle_leave_the_call_to_its_own_end() {
    let resolver = ScriptedResolver::new([resolved("a", &frozen()), resolved("b", &backend([done("b")]))]);
    let call = tokio::spawn(stack(&resolver).oneshot(Call::read()));
    pass(SUSPECT_AFTER).await;
    assert_eq!(call.await.unwrap().unwrap(), super::support::Reply::Done("b"));
    pass(QUIET).await;
    assert_eq!(tasks(), 0);
}
