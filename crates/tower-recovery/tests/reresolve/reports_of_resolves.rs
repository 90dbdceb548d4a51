//! Failures that others reported in public, each by its number: resolves that fail, hang or are given up.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, advance};
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::ServiceExt;
use tower_recovery::{Delivery, Failure, HandleCache, ResolveError, Verdict};
use tower_recovery_test::{ScriptedResolver, ScriptedService, Step};

use super::support::{
    Call, Fault, Reply, attempts, backend, cache, done, fails, millis, poll_woken, recovering, reresolving, resolved,
};

#[tokio::test(start_paused = true)]
async fn b30_the_caller_that_began_the_resolve_is_cancelled_and_the_others_go_on() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([done("a")])).delayed(millis(200))]);
    let stack = reresolving(cache(&resolver));
    let mut callers: Vec<_> = (0..5).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    advance(millis(50)).await;
    drop(callers.remove(0));
    advance(millis(149)).await;
    assert!(callers.iter().all(|caller| !caller.is_woken()));
    advance(millis(1)).await;
    for caller in &mut callers {
        assert_eq!(assert_ready_ok!(poll_woken(caller)), Reply::Done("a"));
    }
    assert_eq!((resolver.resolves(), resolver.dropped()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn b30_all_callers_cancelled_end_the_resolve_and_the_next_call_starts_anew() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([done("a")])).delayed(millis(200))]);
    let stack = reresolving(cache(&resolver));
    let mut callers: Vec<_> = (0..5).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    advance(millis(50)).await;
    drop(callers);
    assert_eq!((resolver.in_flight(), resolver.dropped()), (0, 1));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn b31_all_waiters_get_the_cause_and_the_ninth_call_resolves_anew() {
    let handle = backend([done("a")]);
    let resolver = ScriptedResolver::new([Step::fail(Fault::NoSuchFile).delayed(millis(50)), resolved("a", &handle)]);
    let stack = reresolving(cache(&resolver));
    let mut callers: Vec<_> = (0..8).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for caller in &mut callers {
        assert_pending!(caller.poll());
    }
    advance(millis(50)).await;
    for caller in &mut callers {
        let failure = assert_ready_err!(poll_woken(caller));
        assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
        assert_eq!(failure.find::<Fault>(), Some(&Fault::NoSuchFile));
    }
    assert_eq!(resolver.resolves(), 1);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_says_that_it_will_fail_the_same_way_is_asked_once_a_call() {
    let permanent = Arc::new(Failure::new(Verdict::never_sent().permanent(), Fault::Expired));
    let resolver: ScriptedResolver<ScriptedService<Call, Reply>> = ScriptedResolver::new([Step::fail(permanent)]);
    let failure = recovering(cache(&resolver), attempts(3)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true));
    assert_eq!((failure.attempts(), resolver.resolves()), (1, 1));
    assert_eq!(failure.find::<Fault>(), Some(&Fault::Expired));
}

#[tokio::test(start_paused = true)]
async fn b32_a_an_aborted_resolve_leaves_a_clean_slate() {
    let resolver = ScriptedResolver::new([Step::hang(), resolved("a", &backend([done("a")]))]);
    let stack = reresolving(cache(&resolver));
    let mut aborted = task::spawn(stack.clone().oneshot(Call::write()));
    assert_pending!(aborted.poll());
    advance(millis(50)).await;
    drop(aborted);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), resolver.dropped()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn b32_b_a_panicking_resolve_is_typed_for_its_waiters_and_crosses_to_nobody() {
    let handle = backend([done("a")]);
    let resolver = ScriptedResolver::new([Step::panic_in_poll().delayed(millis(50)), resolved("a", &handle)]);
    let stack = reresolving(cache(&resolver));
    let mut present: Vec<_> = (0..3).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for caller in &mut present {
        assert_pending!(caller.poll());
    }
    advance(millis(50)).await;
    for caller in &mut present {
        let failure = assert_ready_err!(poll_woken(caller));
        assert!(matches!(failure.find(), Some(ResolveError::Panicked)));
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn b34_every_call_asks_a_registry_again_that_failed_before() {
    let old = backend([fails(Fault::ConnectionRefused)]);
    let resolver = ScriptedResolver::new([
        resolved("a", &old),
        Step::fail(Fault::NoSuchFile),
        Step::fail(Fault::NoSuchFile),
        resolved("b", &backend([done("b")])),
    ]);
    let started = Instant::now();
    let cache = HandleCache::builder(resolver.clone(), "service").exact_floor().build();
    let stack = recovering(cache, attempts(1));

    for resolves in 1..=3 {
        let failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
        assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
        assert_eq!((resolver.resolves(), old.calls()), (resolves, 1));
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(started.elapsed(), millis(100 + 100 + 200), "only the floor stood between them");
}

#[tokio::test(start_paused = true)]
async fn b34_with_attempts_left_the_first_call_outlasts_the_outage() {
    let resolver = ScriptedResolver::new([
        resolved("a", &backend([fails(Fault::ConnectionRefused)])),
        Step::fail(Fault::NoSuchFile),
        Step::fail(Fault::NoSuchFile),
        resolved("b", &backend([done("b")])),
    ]);
    let stack = recovering(HandleCache::new(resolver, "service"), attempts(3));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn b34_a_long_outage_is_asked_about_every_few_seconds_and_only_by_calls() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([fails(Fault::ConnectionRefused)]))])
        .then_always(Step::fail(Fault::NoSuchFile));
    let stack = recovering(HandleCache::new(resolver.clone(), "service"), attempts(1));
    for resolves in 1..=100 {
        let began = Instant::now();
        let failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.delivery(), resolver.resolves()), (Some(Delivery::NeverSent), resolves));
        assert!(began.elapsed() <= Duration::from_millis(6_250), "the ceiling, and what chance adds to it");
    }
    advance(Duration::from_secs(30 * 60)).await;
    assert_eq!(resolver.resolves(), 100, "no timer asks");

    resolver.push(resolved("b", &backend([done("b")])));
    let began = Instant::now();
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((began.elapsed(), resolver.resolves()), (Duration::ZERO, 101));
}
