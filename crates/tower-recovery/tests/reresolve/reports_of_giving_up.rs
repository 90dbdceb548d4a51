//! Failures that others reported in public, each by its number: callers whose recovery gives up.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    time::{Instant, advance},
};
use tower::ServiceExt;
use tower_recovery::{CallTiming, Delivery, Failure, HandleCache, ResolveError, Verdict};
use tower_recovery_test::{ScriptedResolver, ScriptedService, Step};

use super::support::{Call, Fault, Reply, attempts, backend, cache, fails, recovering, resolved, resolver};

fn within(deadline: Duration) -> CallTiming {
    CallTiming::builder().deadline(deadline).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn b47_callers_end_with_the_resolver_that_gives_up() {
    let resolver = ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::hang()]);
    let cache = HandleCache::builder(resolver.clone(), "service").resolve_timeout(Duration::from_secs(2)).build();
    let stack = recovering(cache, within(Duration::from_secs(10)));
    let started = Instant::now();
    let calls = (0..3).map(|_| tokio::spawn(stack.clone().oneshot(Call::write()))).collect::<Vec<_>>();
    for call in calls {
        let failure = call.await.unwrap().unwrap_err();
        assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
        assert!(matches!(failure.find(), Some(ResolveError::TimedOut(_))));
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (3, 0), "the three calls shared each of their attempts");
}

#[tokio::test(start_paused = true)]
async fn b47_callers_of_a_resolver_that_only_fails_end_and_leave_nothing_behind() {
    let resolver = ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::fail(Fault::NoSuchFile)]);
    let stack = recovering(HandleCache::new(resolver.clone(), "service"), within(Duration::from_secs(10)));
    let started = Instant::now();
    let calls = (0..3).map(|_| tokio::spawn(stack.clone().oneshot(Call::write()))).collect::<Vec<_>>();
    for call in calls {
        let failure = call.await.unwrap().unwrap_err();
        assert_eq!((failure.delivery(), failure.is_exhausted()), (Some(Delivery::NeverSent), true));
        assert_eq!(failure.find(), Some(&Fault::NoSuchFile));
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    let resolves = resolver.resolves();
    advance(Duration::from_secs(3600)).await;
    assert_eq!((resolver.resolves(), resolver.in_flight()), (resolves, 0));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn b47_callers_of_a_resolver_that_hangs_end_at_their_deadline_as_never_sent() {
    let resolver = ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::hang()]);
    let deadline = Duration::from_secs(2);
    let stack = recovering(HandleCache::new(resolver.clone(), "service"), within(deadline));
    let started = Instant::now();
    let calls = (0..3).map(|_| tokio::spawn(stack.clone().oneshot(Call::write()))).collect::<Vec<_>>();
    for call in calls {
        let failure = call.await.unwrap().unwrap_err();
        assert_eq!((failure.delivery(), started.elapsed()), (Some(Delivery::NeverSent), deadline));
    }
    assert_eq!((resolver.resolves(), resolver.in_flight()), (1, 0));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}

/// Whoever says it: the transport before the request, or the registry in the place of a handle. It says it again at every attempt.
#[tokio::test(start_paused = true)]
async fn b47_a_typed_peer_not_connected_ends_a_call_at_once() {
    let gone = Arc::new(Failure::new(Verdict::never_sent().permanent(), Fault::ConnectionRefused));
    let refusing = backend([fails(Fault::ConnectionRefused)]);
    for (says, verdict) in [
        (resolved("a", &refusing), Verdict::never_sent().stale()),
        (Step::fail(Fault::ConnectionRefused), Verdict::never_sent()),
        (Step::fail(gone), Verdict::never_sent().permanent()),
    ] {
        let started = Instant::now();
        let resolver = ScriptedResolver::new([says]);
        let cache = HandleCache::builder(resolver.clone(), "service").build();
        let failure = recovering(cache.clone(), attempts(1)).oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.verdict(), failure.attempts()), (verdict, 1));
        assert_eq!((started.elapsed(), resolver.resolves(), cache.generation()), (Duration::ZERO, 1, None));
    }
}

/// A gateway that was reached says it in the place of an answer: as a response that goes out where nothing more may be tried.
#[tokio::test(start_paused = true)]
async fn b47_a_typed_peer_not_connected_of_a_gateway_evicts_at_once_and_goes_out_as_it_came() {
    for cap in [1, 3] {
        let gateway = backend([Step::answer(Reply::NotHere)]);
        let resolver = resolver([("a", gateway.clone())]);
        let cache = cache(&resolver);
        let started = Instant::now();
        let stack = recovering(cache.clone(), attempts(cap));
        assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::NotHere);
        assert_eq!((gateway.calls(), resolver.resolves(), cache.generation()), (cap as usize, cap as usize, None));
        assert!(started.elapsed() < Duration::from_secs(2), "it waits for the pauses between its attempts alone");
    }
}
