//! However many reads are slow: one look-up for those who are due together, and the next one no sooner than `suspect_after` later.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};
use tower::{ServiceExt, service_fn};
use tower_recovery::{HandleCache, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    Backend, Events, SURELY_DUE, SUSPECT_AFTER, TICK, answering_after, frozen, pass, poll_pending, stack,
    support::{Call, Fault, Reply, attempts, backend, done, millis, recovering, resolved, resolver},
    suspecting,
};

const READERS: u32 = 1_000;

/// These look-ups come after the first resolve, one after the other.
async fn thousand_readers(old: &Backend, look_ups: Vec<Step<Resolved<Backend>>>) -> (usize, usize, u64, Vec<Reply>) {
    let events = Events::default();
    let resolver = ScriptedResolver::new([resolved("a", old)].into_iter().chain(look_ups));
    let cache = suspecting(&resolver).observer(events.observer()).build();
    let stack = recovering(cache.clone(), attempts(3));
    let mut calls = JoinSet::new();
    for key in 0..READERS {
        calls.spawn(stack.clone().oneshot(Call::read().with_key(key)));
    }
    let replies = calls.join_all().await.into_iter().map(Result::unwrap).collect();
    (resolver.resolves(), events.suspicions(), cache.generation().unwrap().get(), replies)
}

#[tokio::test(start_paused = true)]
async fn a_thousand_readers_that_are_due_together_share_one_look_up_and_one_new_handle() {
    let new = backend([done("b")]);
    for look_up in [resolved("b", &new), resolved("b", &new).delayed(millis(20))] {
        let old = frozen();
        let (resolves, suspicions, generation, replies) = thousand_readers(&old, vec![look_up]).await;
        assert_eq!((resolves, suspicions, generation), (2, 1, 2));
        assert!(replies.iter().all(|reply| *reply == Reply::Done("b")));
        assert_eq!(old.dropped(), READERS as usize);
    }
    assert_eq!(new.calls(), 2 * READERS as usize);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_readers_whose_instance_is_confirmed_share_one_look_up_and_wait_on() {
    let again = backend([done("another handle to a")]);
    for look_up in [
        resolved("a", &again),
        resolved("a", &again).delayed(millis(20)),
        Step::fail(Fault::Lost),
        Step::fail(Fault::Lost).delayed(millis(20)),
        Step::panic_in_call(),
        Step::hang(),
    ] {
        let old = answering_after("a", SUSPECT_AFTER * 60);
        let (resolves, suspicions, generation, replies) = thousand_readers(&old, vec![look_up]).await;
        assert_eq!((resolves, suspicions, generation), (2, 1, 1), "each read is suspected once, and all at one tick");
        assert!(replies.iter().all(|reply| *reply == Reply::Done("a")));
    }
    assert_eq!(again.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_due_during_a_look_up_shares_it() {
    let (old, new) = (frozen(), backend([done("b")]));
    let look_up = millis(500);
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).delayed(look_up)]);
    let stack = stack(&resolver);
    let mut calls = JoinSet::new();
    let begun = Instant::now();
    for key in 0..4 {
        calls.spawn(stack.clone().oneshot(Call::read().with_key(key)));
        pass(TICK).await;
    }
    for reply in calls.join_all().await {
        assert_eq!(reply.unwrap(), Reply::Done("b"));
    }
    let waited = begun.elapsed();
    assert!(waited <= SUSPECT_AFTER + TICK + look_up, "nobody waits beyond the look-up: {waited:?}");
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn reads_that_are_due_after_the_handle_was_replaced_ask_nobody() {
    let new = backend([done("b")]);
    let resolver = resolver([("a", frozen()), ("b", new.clone()), ("c", backend([done("c")]))]);
    let stack = stack(&resolver);
    let mut calls = JoinSet::new();
    for key in 0..10 {
        calls.spawn(stack.clone().oneshot(Call::read().with_key(key)));
        pass(TICK).await;
    }
    for reply in calls.join_all().await {
        assert_eq!(reply.unwrap(), Reply::Done("b"));
    }
    assert_eq!((resolver.resolves(), new.calls()), (2, 10));
}

/// When a registry was asked that confirms after `delay`, while a slow read begins each `every`.
async fn look_ups_under_slow_reads(every: Duration, delay: Duration) -> Vec<Instant> {
    let asked = Arc::<Mutex<Vec<Instant>>>::default();
    let slow = answering_after("a", SUSPECT_AFTER * 3);
    let noting = Arc::clone(&asked);
    let resolver = service_fn(move |()| {
        noting.lock().unwrap().push(Instant::now());
        let resolved = Resolved::new("a", slow.clone());
        async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            Ok::<_, Infallible>(resolved)
        }
    });
    let cache = HandleCache::builder(resolver, ())
        .resolve_floor(Duration::ZERO, Duration::ZERO)
        .suspect_after(SUSPECT_AFTER)
        .unwrap()
        .build();
    let stack = recovering(cache, attempts(3));
    let mut calls = JoinSet::new();
    for key in 0..400 {
        calls.spawn(stack.clone().oneshot(Call::read().with_key(key)));
        pass(every).await;
    }
    calls.join_all().await.into_iter().for_each(|reply| assert_eq!(reply.unwrap(), Reply::Done("a")));
    asked.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn look_ups_that_confirm_come_no_sooner_than_suspect_after_apart_whatever_is_slow() {
    for every in [1, 30, 100, 170] {
        for delay in [0, 20, 700, 2_500] {
            let look_ups = look_ups_under_slow_reads(millis(every), millis(delay)).await;
            let closest = look_ups[1..].windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(look_ups.len() > 1, "{every} ms, {delay} ms");
            assert!(closest.is_none_or(|closest| closest >= SUSPECT_AFTER), "{every} ms, {delay} ms: {closest:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_due_just_after_a_confirmation_asks_once_it_may() {
    let resolver =
        resolver([("a", frozen()), ("a", frozen()), ("b", backend([done("b")])), ("c", backend([done("c")]))]);
    let stack = stack(&resolver);
    let first = tokio::spawn(stack.clone().oneshot(Call::read()));
    pass(TICK * 3).await;
    let begun = Instant::now();
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    let waited = begun.elapsed();
    assert!((SUSPECT_AFTER + TICK..=SUSPECT_AFTER * 2 + TICK).contains(&waited), "{waited:?}");
    assert_eq!(resolver.resolves(), 3);
    pass(SURELY_DUE * 3).await;
    assert!(!first.is_finished(), "the first read was suspected once, in vain");
    first.abort();
}

#[tokio::test(start_paused = true)]
async fn a_read_that_leaves_its_look_up_takes_it_from_nobody_who_is_due_with_it() {
    let gate = Gate::new();
    let resolver = ScriptedResolver::new([
        resolved("a", &frozen()),
        Step::hang(),
        resolved("b", &backend([done("b")])).behind(&gate),
    ]);
    let stack = stack(&resolver);
    let mut leaving = tokio_test::task::spawn(stack.clone().oneshot(Call::read()));
    let mut staying = tokio_test::task::spawn(stack.oneshot(Call::read()));
    poll_pending(&mut leaving);
    poll_pending(&mut staying);
    pass(SURELY_DUE).await;
    assert!(leaving.is_woken());
    poll_pending(&mut leaving);
    assert_eq!(resolver.in_flight(), 1);
    drop(leaving);
    assert_eq!(resolver.in_flight(), 0, "nobody waited for it any more");

    // Nobody answered: whoever was due at the same tick asks again, when that is allowed.
    assert!(staying.is_woken());
    poll_pending(&mut staying);
    pass(SURELY_DUE).await;
    gate.open();
    assert_eq!(tokio_test::assert_ready_ok!(super::support::poll_woken(&mut staying)), Reply::Done("b"));
    assert_eq!(resolver.resolves(), 3);
}
