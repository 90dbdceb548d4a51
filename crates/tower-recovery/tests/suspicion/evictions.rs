//! Suspicions beside failures, refreshes and rebuilds.

use tokio_test::{assert_ready_ok, task};
use tower::ServiceExt;
use tower_recovery::RecoveryEvent;
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    Backend, Events, SURELY_DUE, SUSPECT_AFTER, answering_after, frozen, pass, poll_pending, stack,
    support::{Call, Fault, Reply, attempts, backend, done, fails, poll_woken, recovering, resolved, resolver},
    suspecting,
};

/// A first call that hangs, for the read under suspicion, and a second one that fails so that it evicts.
fn freezing_then_lost(gate: &Gate) -> Backend {
    backend([super::freezes(), fails(Fault::Lost).behind(gate)])
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_evicts_in_the_middle_of_a_look_up_leaves_it_to_both() {
    for (named, replies) in [("b", true), ("a", false)] {
        let [fails, answers] = [Gate::new(), Gate::new()];
        let (old, new) = (freezing_then_lost(&fails), backend([done("new")]));
        let resolver = ScriptedResolver::new([resolved("a", &old), resolved(named, &new).behind(&answers)]);
        let cache = suspecting(&resolver).build();
        let stack = recovering(cache.clone(), attempts(3));
        let mut read = task::spawn(stack.clone().oneshot(Call::read()));
        poll_pending(&mut read);
        let mut other = task::spawn(stack.oneshot(Call::read()));
        poll_pending(&mut other);
        pass(SURELY_DUE).await;
        assert!(read.is_woken());
        poll_pending(&mut read);
        assert_eq!(resolver.in_flight(), 1);

        fails.open();
        assert!(other.is_woken());
        poll_pending(&mut other);
        assert_eq!(cache.generation(), None, "the failure has evicted the handle");
        assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 1), "one look-up serves both");
        answers.open();
        if replies {
            assert_eq!(assert_ready_ok!(poll_woken(&mut read)), Reply::Done("new"));
        } else {
            assert!(read.is_woken());
            poll_pending(&mut read);
            assert_eq!((old.in_flight(), cache.generation().unwrap().get()), (1, 2), "the same instance: it waits on");
        }
        let reply = other.await.unwrap();
        assert_eq!((reply, resolver.resolves()), (Reply::Done("new"), 2));
        drop(read);
        assert_eq!((old.in_flight(), resolver.in_flight()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_handle_was_evicted_and_found_again_waits_on_and_asks_nobody() {
    let old = backend([done("a").delayed(SUSPECT_AFTER * 30), fails(Fault::Lost)]);
    let resolver = resolver([("a", old.clone()), ("a", backend([done("again")])), ("b", backend([done("b")]))]);
    let cache = suspecting(&resolver).build();
    let stack = recovering(cache.clone(), attempts(3));
    let read = tokio::spawn(stack.clone().oneshot(Call::read()));
    old.wait_until_calls(1).await;
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("again"));
    assert_eq!((cache.generation().unwrap().get(), resolver.resolves()), (2, 2));

    assert_eq!(read.await.unwrap().unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), old.dropped()), (2, 0), "another generation of the same instance");
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_handle_was_evicted_is_repeated_where_the_next_resolve_leads() {
    // The write that failed is not repeated, so nobody has resolved anew when the read is due.
    for (next, reply, generation) in [("b", "new", Some(2)), ("a", "a", Some(2)), ("", "a", None)] {
        let old = backend([done("a").delayed(SUSPECT_AFTER * 30), fails(Fault::Lost)]);
        let new = backend([done("new")]);
        let step = if next.is_empty() { Step::fail(Fault::ConnectionRefused) } else { resolved(next, &new) };
        let resolver = ScriptedResolver::new([resolved("a", &old), step]);
        let events = Events::default();
        let cache = suspecting(&resolver).observer(events.observer()).build();
        let stack = recovering(cache.clone(), attempts(3));
        let read = tokio::spawn(stack.clone().oneshot(Call::read()));
        old.wait_until_calls(1).await;
        stack.oneshot(Call::write()).await.unwrap_err();
        pass(SURELY_DUE).await;
        assert_eq!(cache.generation().map(|generation| generation.get()), generation);
        assert_eq!(read.await.unwrap().unwrap(), Reply::Done(reply));
        assert_eq!((resolver.resolves(), events.suspicions()), (2, 0), "nobody suspects what is evicted already");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_joins_a_refresh_that_is_under_way() {
    let gate = Gate::new();
    let events = Events::default();
    let resolver =
        ScriptedResolver::new([resolved("a", &frozen()), resolved("b", &backend([done("b")])).behind(&gate)]);
    let cache = suspecting(&resolver).observer(events.observer()).build();
    let mut read = task::spawn(recovering(cache.clone(), attempts(3)).oneshot(Call::read()));
    poll_pending(&mut read);
    let mut refresh = task::spawn(cache.refresh());
    poll_pending(&mut refresh);
    pass(SURELY_DUE).await;
    assert!(read.is_woken());
    poll_pending(&mut read);
    drop(refresh);
    assert_eq!((resolver.resolves(), resolver.in_flight(), events.suspicions()), (2, 1, 0));
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut read)), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn a_rebuild_in_the_middle_of_a_look_up_has_the_read_ask_anew() {
    let resolver = ScriptedResolver::new([
        resolved("a", &frozen()),
        Step::hang(),
        resolved("b", &backend([done("b")])),
        resolved("c", &backend([done("c")])),
    ]);
    let cache = suspecting(&resolver).resolve_timeout(SUSPECT_AFTER * 3).build();
    let read = tokio::spawn(recovering(cache.clone(), attempts(3)).oneshot(Call::read()));
    pass(SURELY_DUE).await;
    assert_eq!(resolver.in_flight(), 1);
    cache.invalidate();
    assert_eq!(read.await.unwrap().unwrap(), Reply::Done("b"));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn each_look_up_of_a_suspicion_is_reported_once_with_the_live_generation() {
    let events = Events::default();
    let old = answering_after("a", SUSPECT_AFTER * 2);
    let resolver = ScriptedResolver::new([resolved("a", &old)]);
    let stack = recovering(suspecting(&resolver).named("orders").observer(events.observer()).build(), attempts(3));
    for look_ups in 1..=3 {
        let reads = [(); 5].map(|()| tokio::spawn(stack.clone().oneshot(Call::read())));
        for read in reads {
            read.await.unwrap().unwrap();
        }
        assert_eq!((events.suspicions(), resolver.resolves()), (look_ups, look_ups + 1));
    }
    assert!(events.all().iter().all(|event| match event {
        RecoveryEvent::HandleSuspected { name, identity, generation } =>
            (&**name, identity.as_str(), generation.get()) == ("orders", "a", 1),
        _ => true,
    }));
}

#[tokio::test(start_paused = true)]
async fn the_new_handle_is_suspected_by_the_reads_that_begin_on_it() {
    let resolver = resolver([("a", frozen()), ("b", frozen()), ("c", backend([done("c")]))]);
    let stack = stack(&resolver);
    let first = tokio::spawn(stack.clone().oneshot(Call::read()));
    pass(SURELY_DUE).await;
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("c"));
    assert_eq!(resolver.resolves(), 3);
    assert!(!first.is_finished(), "the second attempt of the first read waits on");
    first.abort();
}
