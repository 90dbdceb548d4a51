//! `ClassifyLayer`: what an error or an answer proves, and that it changes nothing else.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use std::{error::Error, future::ready, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{
    BoxError, Service, ServiceBuilder, ServiceExt,
    buffer::Buffer,
    limit::ConcurrencyLimit,
    load_shed::{LoadShed, error::Overloaded},
    service_fn,
    timeout::{Timeout, error::Elapsed},
};
use tower_recovery::{Classify, ClassifyLayer, Delivery, Failure, NotReady, Verdict, classify::ClassifyService};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, Step};

use self::support::{Call, Fault, Protocol, Reply, backend, contract, done, fails, poll_woken};

/// For what the classifier must not be asked.
#[derive(Clone, Copy)]
struct Unasked;

impl<Response> Classify<Response> for Unasked {
    fn response(&self, _: &Response) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        panic!("the classifier was asked about {error}")
    }
}

#[tokio::test]
async fn request_and_answer_pass_untouched() {
    let backend = backend([done("a"), Step::answer(Reply::Error(500))]);
    let mut classified = ClassifyService::new(backend.clone(), Protocol);

    let call = Call::counted_read().with_key(7).with_silent(false);
    assert_eq!(classified.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Done("a"));
    assert_eq!(classified.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Error(500));
    assert_eq!(backend.requests(), [call.clone(), call]);
}

#[tokio::test]
async fn an_error_is_judged_and_stays_the_source() {
    for fault in Fault::ALL {
        let failure = ClassifyService::new(backend([fails(fault)]), Protocol).oneshot(Call::write()).await.unwrap_err();

        assert_eq!(failure.verdict(), fault.verdict(), "{fault}");
        assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&fault));
        assert_eq!((failure.attempts(), failure.is_exhausted()), (1, false));
        assert!(failure.lease().is_none() && failure.take_unsent::<Call>().is_none());
    }
}

#[tokio::test]
async fn an_error_that_a_foreign_layer_wrapped_is_still_found() {
    #[derive(Debug, thiserror::Error)]
    #[error("a foreign layer")]
    struct Wrapped(#[source] Fault);

    let inner = service_fn(|_: Call| ready(Err::<Reply, _>(Wrapped(Fault::Lost))));
    let failure = ClassifyService::new(inner, Protocol).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.verdict(), Fault::Lost.verdict());
    assert!(failure.cause().unwrap().is::<Wrapped>());
}

#[tokio::test]
async fn a_response_that_refuses_becomes_a_failure_that_holds_it() {
    let inner = backend([Step::answer(Reply::NotHere)]);
    let failure = ClassifyService::new(inner, Protocol).oneshot(Call::write()).await.unwrap_err();

    assert_eq!(failure.verdict(), Verdict::refused().stale());
    assert!(failure.cause().is_none());
    assert_eq!(failure.take_response(), Some(Reply::NotHere));
    assert_eq!(failure.take_response::<Reply>(), None);
}

#[tokio::test]
async fn a_failure_from_below_is_not_judged_again() {
    let inner = service_fn(|call: Call| {
        ready(Err::<Reply, _>(Failure::new(Verdict::never_sent(), Fault::Lost).with_unsent(call)))
    });
    let failure = ClassifyService::new(inner, Unasked).oneshot(Call::write().with_key(3)).await.unwrap_err();

    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(3)));
}

#[tokio::test(start_paused = true)]
async fn the_errors_of_tower_are_known_without_the_classifier() {
    let timeout = Timeout::new(backend([Step::hang()]), Duration::from_secs(1));
    let failure = ClassifyService::new(timeout, Unasked).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.verdict(), Verdict::maybe_sent().stale());
    assert!(failure.find::<Elapsed>().is_some());

    let never_ready = ScriptedReadiness::new(backend([done("a")]), [ReadyStep::Until(Gate::new())]);
    let failure = ClassifyService::new(LoadShed::new(never_ready), Unasked).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.verdict(), Verdict::never_sent());
    assert!(failure.find::<Overloaded>().is_some());

    // The worker reads the queue, finds its service dead and says so to the request that waits.
    let dead = ScriptedReadiness::new(backend([]), [ReadyStep::Fail(Fault::Lost.into())]);
    let failure = ClassifyService::new(Buffer::new(dead, 1), Unasked).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.verdict(), Verdict::never_sent().stale());
}

#[tokio::test]
async fn an_error_of_poll_ready_is_never_sent_whatever_the_classifier_would_say() {
    let inner = ScriptedReadiness::new(backend([]), [ReadyStep::Fail(Fault::Lost.into())]);
    let mut classified = ClassifyService::new(inner, Protocol);

    let failure = classified.ready().await.map(drop).unwrap_err();
    assert_eq!(failure.verdict(), Verdict::never_sent().stale());
    assert!(failure.cause().unwrap().is::<NotReady>());
    assert_eq!(failure.find::<Fault>(), Some(&Fault::Lost));
}

#[tokio::test]
async fn it_calls_only_what_was_readied() {
    let probe = ReadinessProbe::new(backend([done("a")]));
    let counts = probe.counts();
    contract::it_calls_only_what_was_readied(ClassifyService::new(probe, Protocol), &counts).await;
}

#[tokio::test]
async fn a_clone_starts_unready_and_a_dropped_instance_frees_its_slot() {
    let limited = ConcurrencyLimit::new(backend([done("a")]), 1);
    let classified = ClassifyService::new(limited, Protocol);
    contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(classified).await;
}

#[test]
fn a_dropped_call_frees_its_slot() {
    let limited = ConcurrencyLimit::new(backend([Step::hang()]), 1);
    contract::a_dropped_call_frees_its_slot(ClassifyService::new(limited, Protocol));
}

#[tokio::test]
async fn a_wake_up_from_below_reaches_the_call() {
    let gate = Gate::new();
    let inner = backend([done("a").behind(&gate)]);
    let mut call = task::spawn(ClassifyService::new(inner, Protocol).call(Call::write()));

    assert_pending!(call.poll());
    assert!(!call.is_woken());
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
}

#[tokio::test]
async fn a_panic_below_takes_down_its_own_call_alone() {
    let inner = backend([Step::panic_in_call(), Step::panic_in_poll(), done("a")]);
    let classified = ClassifyService::new(inner.clone(), Protocol);

    for _ in 0..2 {
        let call = classified.clone().oneshot(Call::write());
        assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
    }
    assert_eq!(classified.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test]
async fn a_panicking_classifier_takes_down_the_call_that_it_judges_alone() {
    let classified = ClassifyService::new(backend([fails(Fault::Foreign), done("a")]), Unasked);

    let call = classified.clone().oneshot(Call::write());
    assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
    assert_eq!(classified.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

/// What a handle says that has executed the request, and then failed at a request of its own.
#[derive(Debug, thiserror::Error)]
#[error("the follow-up failed")]
struct FollowUp(#[source] BoxError);

#[tokio::test(start_paused = true)]
async fn what_was_proven_of_another_request_in_the_depth_proves_nothing_of_this_one() {
    let others: [fn() -> BoxError; 3] = [
        || Overloaded::new().into(),
        || {
            Failure::new(Verdict::never_sent().stale(), "a connection refused elsewhere")
                .with_unsent("another request")
                .into()
        },
        || Failure::new(Verdict::refused(), "a stream refused elsewhere").into(),
    ];
    for other in others {
        let handle = service_fn(move |_: Call| async move { Err::<Reply, _>(BoxError::from(FollowUp(other()))) });
        let stack = ServiceBuilder::new().layer(ClassifyLayer::new(Protocol)).service(handle);
        let failure = stack.oneshot(Call::write()).await.unwrap_err();
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{failure:?}");
        assert_eq!(failure.take_unsent::<&str>(), None);
    }
}
