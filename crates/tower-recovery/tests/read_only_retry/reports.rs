//! Failures that others reported in public, each by its number.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::time::{Duration, Instant, advance};
use tokio_test::{assert_pending, task};
use tower::{Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit, service_fn};
use tower_recovery::{CallTiming, ClassifyLayer, Delivery, LinearBackoff, ReadOnlyRetryLayer};
use tower_recovery_test::{ReadinessProbe, ReadyStep, ScriptedReadiness, ScriptedResolver, Step};

use super::{
    retrying,
    support::{
        Call, Fault, Protocol, Reply, attempts, backend, cache, done, fails, millis, recovering, resolver, rules,
    },
};

#[tokio::test(start_paused = true)]
async fn b50_a_transaction_whose_reply_was_lost_is_not_applied_again() {
    let (first, second) = (backend([fails(Fault::Lost)]), backend([done("twice")]));
    let resolver = resolver([("a", first.clone()), ("b", second.clone())]);
    let failure = recovering(cache(&resolver), attempts(3)).oneshot(Call::write()).await.unwrap_err();

    assert_eq!((first.calls(), second.calls()), (1, 0));
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert_eq!(failure.to_string(), "the request may have been executed");
}

#[tokio::test(start_paused = true)]
async fn b52_an_answered_500_is_not_repeated_by_whatever_name_it_comes() {
    for call in [Call::write(), Call::read()] {
        let answers = backend([Step::answer(Reply::Error(500))]);
        assert_eq!(retrying(answers.clone(), attempts(3)).oneshot(call.clone()).await.unwrap(), Reply::Error(500));
        assert_eq!(answers.calls(), 1);

        let fails = backend([fails(Fault::NoSuchFile)]);
        let failure = retrying(fails.clone(), attempts(3)).oneshot(call).await.unwrap_err();
        assert_eq!((failure.delivery(), fails.calls()), (Some(Delivery::Answered), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn b53_whether_it_may_be_repeated_is_read_from_the_request_before_it_is_sent() {
    // The transport swallows the request and leaves nothing of it in its error.
    let backend = backend([fails(Fault::Lost), done("twice")]);
    let failure = retrying(backend.clone(), attempts(3)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), backend.calls()), (Some(Delivery::MaybeSent), 1));
}

/// A service that takes no request with the same key before its third attempt.
fn flaky() -> impl Service<Call, Response = Reply, Error = Fault, Future: Send> + Clone + Send + 'static {
    let tries = Arc::new(Mutex::new(HashMap::<u32, u32>::new()));
    service_fn(move |call: Call| {
        let mut tries = tries.lock().unwrap();
        let tries = tries.entry(call.key).or_default();
        *tries += 1;
        let outcome = if *tries < 3 { Err(Fault::NotWritten) } else { Ok(Reply::Done("a")) };
        async move {
            tokio::task::yield_now().await;
            outcome
        }
    })
}

#[tokio::test(start_paused = true)]
async fn b54_every_attempt_of_a_storm_of_clones_is_readied_on_its_own_instance() {
    const CALLS: u32 = 50;
    for limit in [1, 3, 64] {
        let probe = ReadinessProbe::new(ConcurrencyLimit::new(flaky(), limit));
        let counts = probe.counts();
        let stack = retrying(probe, attempts(3));
        let calls: Vec<_> =
            (0..CALLS).map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key)))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), Reply::Done("a"));
        }
        assert_eq!((counts.called(), counts.called_unready()), (3 * CALLS as usize, 0));
        assert_eq!((counts.ready_now(), counts.dropped_ready()), (0, 0), "the slot of the caller is used, not lost");
    }
}

#[tokio::test(start_paused = true)]
async fn b54_an_error_of_readiness_ends_the_retry_with_that_error() {
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let breaks = ScriptedReadiness::new(backend.clone(), [ReadyStep::Ready, ReadyStep::Fail(Fault::Garbled.into())]);
    let failure = retrying(breaks, attempts(3)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.find(), backend.calls()), (Some(&Fault::Garbled), 1));
}

#[tokio::test(start_paused = true)]
async fn b57_no_attempt_and_no_sleep_outlives_the_deadline() {
    for _ in 0..50 {
        let timing = CallTiming::builder().attempts(20).deadline(Duration::from_secs(1)).build().unwrap();
        let backend = backend([fails(Fault::ConnectionRefused)]);
        let stack = ServiceBuilder::new()
            .layer(
                ReadOnlyRetryLayer::new(rules())
                    .timing(timing)
                    .backoff(LinearBackoff::new(millis(300), Duration::from_secs(5))),
            )
            .layer(ClassifyLayer::new(Protocol))
            .service(backend.clone());
        let started = Instant::now();
        let failure = stack.oneshot(Call::write()).await.unwrap_err();

        // A pause that ends within the last millisecond is noticed with the deadline: timers count whole ones.
        assert!(started.elapsed() <= Duration::from_secs(1));
        assert_eq!((failure.delivery(), failure.find()), (Some(Delivery::NeverSent), Some(&Fault::ConnectionRefused)));
        assert_eq!(failure.attempts() as usize, backend.calls());
        assert!(failure.is_exhausted() && (2..=4).contains(&backend.calls()));
    }
}

#[tokio::test(start_paused = true)]
async fn b66_a_call_dropped_in_its_backoff_sends_nothing_more() {
    let backend = backend([fails(Fault::NotWritten), done("after the cancel")]);
    let stack = ServiceBuilder::new()
        .layer(
            ReadOnlyRetryLayer::new(rules())
                .backoff(LinearBackoff::new(Duration::from_secs(10), Duration::from_secs(10))),
        )
        .layer(ClassifyLayer::new(Protocol))
        .service(backend.clone());
    let mut call = task::spawn(stack.oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(millis(10)).await;
    drop(call);
    advance(Duration::from_secs(60)).await;
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn b66_a_call_cancelled_before_it_began_sends_nothing() {
    // There is no token type: to cancel is to drop the future, here before its first poll.
    let handle = backend([done("after the cancel")]);
    let mut stack = recovering(cache(&resolver([("a", handle.clone())])), attempts(3));
    drop(stack.ready().await.unwrap().call(Call::write()));
    assert_eq!(handle.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn b67_a_call_that_found_nobody_leaves_the_next_one_its_full_allowance() {
    let started = Instant::now();
    let starting = service_fn(move |_: Call| async move {
        if started.elapsed() < millis(500) { Err(Fault::ConnectionRefused) } else { Ok(Reply::Done("a")) }
    });
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).backoff(LinearBackoff::new(millis(200), Duration::from_secs(5))))
        .layer(ClassifyLayer::new(Protocol))
        .service(starting);
    match stack.clone().oneshot(Call::write()).await {
        Ok(reply) => assert_eq!(reply, Reply::Done("a")),
        Err(failure) => assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3)),
    }
    assert!(started.elapsed() >= millis(300), "the attempts are spread by their backoff");
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn b67_every_call_starts_with_a_full_allowance() {
    let refused = || fails(Fault::ConnectionRefused);
    let backend = backend([refused(), refused(), refused(), refused(), refused(), done("a")]);
    let stack = retrying(backend.clone(), attempts(3));
    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap_err().attempts(), 3);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(backend.calls(), 6);
}

#[tokio::test(start_paused = true)]
async fn b68_an_answered_not_found_is_one_call() {
    let handle = backend([fails(Fault::NoSuchFile)]);
    let resolver = resolver([("a", handle.clone())]);
    let failure = recovering(cache(&resolver), attempts(3)).oneshot(Call::read()).await.unwrap_err();
    assert_eq!((failure.delivery(), handle.calls(), resolver.resolves()), (Some(Delivery::Answered), 1, 1));
}

#[tokio::test(start_paused = true)]
async fn b68_an_answer_that_is_listed_as_stale_evicts_and_is_still_one_call() {
    // The report expects a second call. An answer is final (law 4): it goes out, and the next call finds the new handle.
    let old = backend([fails(Fault::SessionGone)]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let stack = recovering(cache(&resolver), attempts(3));
    stack.clone().oneshot(Call::read()).await.unwrap_err();
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (1, 0, 1));
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn b68_a_refusal_that_never_ends_is_surfaced_at_the_cap_and_never_a_loop() {
    let handle = backend([Step::answer(Reply::NotHere)]);
    let resolver = ScriptedResolver::new([super::support::resolved("a", &handle)]);
    let reply = recovering(cache(&resolver), attempts(3)).oneshot(Call::read()).await.unwrap();
    assert_eq!((reply, handle.calls()), (Reply::NotHere, 3));
    assert_eq!(resolver.resolves(), 3, "one look-up for each eviction that was followed by a repeat");
}
