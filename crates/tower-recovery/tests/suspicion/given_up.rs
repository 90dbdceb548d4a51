//! The attempt is given up, and repeated on the instance that the registry names.

use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{Delivery, RecoveryEvent};
use tower_recovery_test::ScriptedResolver;

use super::{
    Events, SUSPECT_AFTER, TICK, answering_after, frozen, pass, stack,
    support::{Call, Reply, attempts, backend, done, millis, recovering, resolved, resolver},
    suspecting,
};

#[tokio::test(start_paused = true)]
async fn a_read_on_a_frozen_instance_is_answered_by_the_one_that_the_registry_names() {
    let (old, new) = (frozen(), backend([done("b")]));
    let look_up = millis(30);
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).delayed(look_up)]);
    let begun = Instant::now();
    assert_eq!(stack(&resolver).oneshot(Call::read()).await.unwrap(), Reply::Done("b"));

    let waited = begun.elapsed();
    assert!((SUSPECT_AFTER + look_up..=SUSPECT_AFTER + TICK + look_up).contains(&waited), "{waited:?}");
    assert_eq!((old.calls(), old.dropped(), new.calls(), resolver.resolves()), (1, 1, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_at_most_one_tick_more_and_never_less_wherever_in_a_tick_it_begins() {
    for part in 0..=10 {
        let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
        let cache = suspecting(&resolver).build();
        let stack = recovering(cache, attempts(3));
        // A write that waits has nothing suspected; a read keeps the ticks going, and is left before it is due.
        let ticking = tokio::spawn(stack.clone().oneshot(Call::read()));
        pass(TICK * part / 10).await;
        let begun = Instant::now();
        let call = tokio::spawn(stack.oneshot(Call::read()));
        pass(TICK).await;
        ticking.abort();
        assert_eq!(call.await.unwrap().unwrap(), Reply::Done("b"));
        let waited = begun.elapsed();
        assert!((SUSPECT_AFTER..=SUSPECT_AFTER + TICK).contains(&waited), "{part}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_just_before_has_nothing_asked_and_one_just_after_has() {
    for (delay, resolves, calls) in [(SUSPECT_AFTER, 1, [1, 0]), (SUSPECT_AFTER + TICK + millis(1), 2, [1, 1])] {
        let (old, new) = (answering_after("a", delay), backend([done("b")]));
        let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
        let reply = stack(&resolver).oneshot(Call::read()).await.unwrap();
        assert_eq!(reply, Reply::Done(if resolves == 1 { "a" } else { "b" }));
        assert_eq!((resolver.resolves(), [old.calls(), new.calls()]), (resolves, calls), "{delay:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_read_that_can_be_silenced_is_and_an_explicit_value_stays() {
    for (call, silent) in [
        (Call::counted_read(), Some(true)),
        (Call::counted_read().with_silent(false), Some(false)),
        (Call::counted_read().with_silent(true), Some(true)),
        (Call::read(), None),
    ] {
        let (old, new) = (frozen(), backend([done("b")]));
        let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
        stack(&resolver).oneshot(call.clone()).await.unwrap();
        assert_eq!(old.requests(), std::slice::from_ref(&call), "the first attempt is sent as the caller gave it");
        assert_eq!(new.requests(), [Call { silent, ..call }]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_reports_say_who_was_suspected_and_why_the_attempt_failed() {
    let events = Events::default();
    let (old, new) = (frozen(), backend([done("b")]));
    let resolver = resolver([("a", old), ("b", new)]);
    let cache = suspecting(&resolver).observer(events.observer()).build();
    let stack = tower::ServiceBuilder::new()
        .layer(tower_recovery::ReadOnlyRetryLayer::new(super::support::rules()).observer(events.observer()))
        .layer(tower_recovery::ReresolveLayer::new(cache))
        .service(tower_recovery::Dispatch);
    stack.oneshot(Call::read()).await.unwrap();

    let all = events.all();
    let [
        RecoveryEvent::HandleResolved { .. },
        RecoveryEvent::HandleSuspected { name, identity, generation },
        RecoveryEvent::HandleResolved { previous: Some(previous), .. },
        RecoveryEvent::AttemptFailed { attempt: 1, delivery: Some(Delivery::MaybeSent), cause, .. },
        RecoveryEvent::CallRepeated { attempt: 2, free: true, silenced: false, .. },
    ] = &all[..]
    else {
        panic!("{all:#?}");
    };
    assert_eq!((&**name, identity.as_str(), generation.get(), previous.as_str()), ("handle", "a", 1, "a"));
    assert_eq!(cause, "no answer from a, in whose place the registry names b");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_evicted_and_calls_under_way_on_the_old_instance_finish() {
    let events = Events::default();
    let old = backend([done("a").delayed(SUSPECT_AFTER * 5), super::freezes()]);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    let stack = recovering(suspecting(&resolver).observer(events.observer()).build(), attempts(3));
    let write = tokio::spawn(stack.clone().oneshot(Call::write()));
    old.wait_until_calls(1).await;

    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert_eq!(write.await.unwrap().unwrap(), Reply::Done("a"), "the write waits on for its own late result");
    assert_eq!((old.calls(), old.dropped()), (2, 1));
    assert!(!events.all().iter().any(|event| matches!(event, RecoveryEvent::HandleEvicted { .. })));
}
