//! What is repeated, and what never: by proof, method and cap alone.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::FutureExt;
use tokio::time::{Duration, Instant};
use tower::{ServiceBuilder, ServiceExt, service_fn, timeout::TimeoutLayer};
use tower_recovery::{
    Access, ClassifyLayer, Delivery, Failure, ReadMethods, ReadOnlyRetryLayer, RequestRules, Verdict,
};
use tower_recovery_test::{ScriptedResolver, Step};

use super::{
    retrying,
    support::{
        Call, Fault, Protocol, Reply, attempts, backend, cache, done, fails, recovering, resolved, rules,
        rules_without_copies,
    },
};

const METHODS: [fn() -> Call; 3] = [Call::write, Call::read, Call::counted_read];

#[tokio::test(start_paused = true)]
async fn never_sent_and_refused_are_repeated_up_to_the_cap_whatever_the_method() {
    for fault in [Fault::ConnectionRefused, Fault::NotWritten, Fault::ReadOnly] {
        for (method, cap) in METHODS.into_iter().zip([1, 2, 5]) {
            let backend = backend([fails(fault)]);
            let failure = retrying(backend.clone(), attempts(cap)).oneshot(method()).await.unwrap_err();
            assert_eq!(backend.calls(), cap as usize, "{fault}");
            assert_eq!((failure.attempts(), failure.is_exhausted()), (cap, true));
            assert_eq!((failure.verdict(), failure.find()), (fault.verdict(), Some(&fault)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_executed_is_never_sent_twice() {
    for fault in [Fault::Lost, Fault::Garbled] {
        let backend = backend([fails(fault), done("twice")]);
        let failure = retrying(backend.clone(), attempts(9)).oneshot(Call::write()).await.unwrap_err();
        assert_eq!(backend.calls(), 1, "{fault}");
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
        assert!(!failure.is_exhausted(), "no bound ended the call, but what is not known");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_cut_off_by_a_timeout_of_towers_is_not_sent_twice() {
    let backend = backend([Step::hang(), done("twice")]);
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()))
        .layer(TimeoutLayer::new(Duration::from_secs(1)))
        .service(backend.clone());
    assert_eq!(stack.oneshot(Call::write()).await.unwrap_err().delivery(), Some(Delivery::MaybeSent));
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn reads_are_repeated_after_an_attempt_that_may_have_executed() {
    for fault in [Fault::Lost, Fault::Garbled] {
        for method in [Call::read, Call::counted_read] {
            let backend = backend([fails(fault), fails(fault), done("a")]);
            assert_eq!(retrying(backend.clone(), attempts(3)).oneshot(method()).await.unwrap(), Reply::Done("a"));
            assert_eq!(backend.calls(), 3);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_answered_and_unrecognised_are_never_repeated() {
    for fault in [Fault::Expired, Fault::NoSuchFile, Fault::SessionGone, Fault::Foreign] {
        for method in METHODS {
            let backend = backend([fails(fault), done("again")]);
            let failure = retrying(backend.clone(), attempts(3)).oneshot(method()).await.unwrap_err();
            assert_eq!(backend.calls(), 1, "{fault}");
            assert_eq!((failure.verdict(), failure.attempts()), (fault.verdict(), 1));
            assert!(!failure.is_exhausted());
            assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&fault));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn over_every_order_of_faults_only_proof_is_acted_on() {
    const CAP: usize = 4;
    let orders = Fault::ALL.into_iter().flat_map(|first| {
        Fault::ALL.into_iter().flat_map(move |second| Fault::ALL.map(move |third| [first, second, third]))
    });
    for order in orders {
        for method in METHODS {
            let is_read = method() != Call::write();
            let repeatable = |fault: &Fault| {
                let verdict = fault.verdict();
                !verdict.is_permanent()
                    && verdict
                        .delivery()
                        .is_some_and(|delivery| delivery.is_send_side() || is_read && delivery == Delivery::MaybeSent)
            };
            let repeats = order.iter().take_while(|fault| repeatable(fault)).count();

            let backend = backend(order.map(fails)).then_always(done("a"));
            let outcome = retrying(backend.clone(), attempts(CAP as u32)).oneshot(method()).await;
            assert_eq!(backend.calls(), repeats + 1, "{order:?}");
            assert_eq!(outcome.is_ok(), repeats == order.len(), "{order:?}");
            if let Err(failure) = outcome {
                let maybe_sent = order[..=repeats].iter().any(|f| f.verdict().delivery() == Some(Delivery::MaybeSent));
                let last = order[repeats].verdict().delivery();
                let proven =
                    if maybe_sent && last != Some(Delivery::Answered) { Some(Delivery::MaybeSent) } else { last };
                assert_eq!(failure.delivery(), proven, "{order:?}: the failure speaks of all attempts");
                assert_eq!(failure.attempts() as usize, repeats + 1);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_outlives_the_attempts_is_the_response_that_it_is() {
    for cap in 1..=3 {
        let backend = backend([Step::answer(Reply::NotHere)]);
        let reply = retrying(backend.clone(), attempts(cap)).oneshot(Call::write()).await.unwrap();
        assert_eq!((reply, backend.calls()), (Reply::NotHere, cap as usize));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_request_that_cannot_be_repeated_is_the_response_that_it_is() {
    let backend = backend([Step::answer(Reply::NotHere)]);
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules_without_copies()))
        .layer(ClassifyLayer::new(Protocol))
        .service(backend.clone());
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::NotHere);
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_only_indicts_is_the_answer_that_it_is() {
    let backend = backend([Step::answer(Reply::LastWords)]);
    assert_eq!(retrying(backend.clone(), attempts(3)).oneshot(Call::read()).await.unwrap(), Reply::LastWords);
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_not_repeated_waits_for_no_look_up() {
    let resolver = ScriptedResolver::new([resolved("a", &backend([fails(Fault::Lost)])), Step::hang()]);
    let started = Instant::now();
    let failure = recovering(cache(&resolver), attempts(3)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), started.elapsed()), (Some(Delivery::MaybeSent), Duration::ZERO));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_inner_retry_has_exhausted_the_outer_does_not_begin_again() {
    let backend = backend([fails(Fault::NotWritten)]);
    let failure =
        retrying(retrying(backend.clone(), attempts(3)), attempts(5)).oneshot(Call::read()).await.unwrap_err();
    assert_eq!(backend.calls(), 3);
    assert!(failure.is_exhausted());
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_failure_is_known_through_a_foreign_layer() {
    #[derive(Debug, thiserror::Error)]
    #[error("a foreign layer")]
    struct Wrapped(#[source] Failure);

    let backend = backend([fails(Fault::NotWritten)]);
    let inner = retrying(backend.clone(), attempts(3)).map_err(Wrapped);
    let failure = retrying(inner, attempts(5)).oneshot(Call::read()).await.unwrap_err();
    assert_eq!(backend.calls(), 3);
    assert!(failure.cause().unwrap().is::<Wrapped>());
}

#[tokio::test(start_paused = true)]
async fn the_attempts_that_an_inner_retry_spent_are_counted() {
    let backend = backend([fails(Fault::NotWritten)]);
    let failure =
        retrying(retrying(backend.clone(), attempts(3)), attempts(5)).oneshot(Call::read()).await.unwrap_err();
    assert_eq!((backend.calls(), failure.attempts()), (3, 3), "the backend was tried three times, and not once");
}

/// Rules that count what they are asked.
#[derive(Clone, Default)]
struct Asked {
    access: Arc<AtomicUsize>,
    copies: Arc<AtomicUsize>,
}

impl RequestRules<Call> for Asked {
    type Method = &'static str;

    fn method(&self, call: &Call) -> &'static str {
        call.method
    }

    fn access(&self, _: &Call, method: &&'static str) -> Access {
        self.access.fetch_add(1, Ordering::Relaxed);
        ReadMethods::new().read("list_files").access(method)
    }

    fn copy(&self, call: &Call) -> Option<Call> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        Some(call.clone())
    }

    fn silence(&self, _: &mut Call) {}
}

#[tokio::test(start_paused = true)]
async fn the_request_is_judged_once_and_copied_only_for_an_attempt_that_may_come() {
    for (cap, fault, copies) in
        [(1, Fault::NotWritten, 0), (3, Fault::NotWritten, 2), (3, Fault::NoSuchFile, 1), (2, Fault::Lost, 1)]
    {
        let asked = Asked::default();
        let stack = ServiceBuilder::new()
            .layer(ReadOnlyRetryLayer::new(asked.clone()).timing(attempts(cap)))
            .layer(ClassifyLayer::new(Protocol))
            .service(backend([fails(fault)]));
        stack.oneshot(Call::read()).await.unwrap_err();
        assert_eq!((asked.access.load(Ordering::Relaxed), asked.copies.load(Ordering::Relaxed)), (1, copies));
    }
}

#[test]
fn a_call_that_succeeds_at_once_needs_no_timer() {
    // There is no runtime here, so arming one would panic.
    let stack = retrying(service_fn(|_: Call| ready(Ok::<_, Fault>(Reply::Done("a")))), attempts(3));
    assert_eq!(stack.oneshot(Call::write()).now_or_never().unwrap().unwrap(), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_a_source_or_a_response_is_judged_by_its_verdict_alone() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&calls);
    let inner = service_fn(move |_: Call| {
        counting.fetch_add(1, Ordering::Relaxed);
        ready(Err::<Reply, _>(Failure::from_response(Verdict::refused(), "of a type that nobody asks for")))
    });
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(rules())).service(inner);
    let failure = stack.oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::Refused), 3));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert!(failure.take_response::<&str>().is_some(), "what is of another type stays where it is");
}
