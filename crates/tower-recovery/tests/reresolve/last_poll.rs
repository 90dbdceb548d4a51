//! A call that comes to its deadline is polled a last time, so that it can say that it was never sent. Who is polled with it, and what else may be said by then.

use std::{future::poll_fn, task::Poll, time::Duration};

use futures_util::{FutureExt, future::select};
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{CallTiming, DeadlineExceeded, Delivery, Failure, HandleCache, ReadOnlyRetryLayer, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, ScriptedService, Step};

use super::support::{
    Call, Fault, Idempotent, Reply, ample, attempts, backend, cache, done, fails, recovering, reresolving, resolved,
    rules,
};

const DEADLINE: Duration = Duration::from_secs(1);

fn within(deadline: Duration) -> CallTiming {
    CallTiming::builder().deadline(deadline).build().unwrap()
}

/// A registry whose own address is looked up first, by a stack like ours.
#[tokio::test(start_paused = true)]
async fn a_resolve_that_others_wait_for_is_not_ended_by_the_deadline_of_one() {
    let gate = Gate::new();
    let registry = backend([done("the registry")]);
    let addresses = ScriptedResolver::new([resolved("registry", &registry).behind(&gate)]);
    let registry = reresolving(cache(&addresses));
    let api = backend([done("a")]);
    let resolver = service_fn(move |()| {
        let (registry, api) = (registry.clone(), api.clone());
        async move { registry.oneshot(Call::write()).await.map(|_| Resolved::new("a", api)) }
    });
    let cache = HandleCache::builder(resolver, ()).resolve_floor(Duration::ZERO, Duration::ZERO).build();

    let patient = tokio::spawn(recovering(cache.clone(), attempts(1)).oneshot(Call::write()));
    let failure = recovering(cache, within(DEADLINE)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert!(failure.find::<DeadlineExceeded>().is_some_and(|exceeded| exceeded.last.is_none()));

    gate.open();
    assert_eq!(patient.await.unwrap().unwrap(), Reply::Done("a"));
    assert_eq!(addresses.resolves(), 1);
}

/// A handle that makes a request of its own once it has done ours, and cannot.
#[tokio::test(start_paused = true)]
async fn a_request_that_a_handle_makes_of_its_own_and_never_sends_says_nothing_of_this_one() {
    #[derive(Debug, thiserror::Error)]
    #[error("the follow-up failed")]
    struct FollowUp(#[source] Failure);

    let audit = ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::hang()]);
    let audit = reresolving(cache(&audit));
    let executing = backend([done("a")]);
    let executes = executing.clone();
    let handle = service_fn(move |call: Call| {
        let (executes, audit) = (executes.clone(), audit.clone());
        async move {
            let reply = executes.oneshot(call).await?;
            audit.oneshot(Call::write()).await.map_err(FollowUp)?;
            Ok::<_, BoxError>(reply)
        }
    });
    let resolver = ScriptedResolver::new([Step::resolved("a", handle)]);
    let failure = recovering(cache(&resolver), within(DEADLINE)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(executing.calls(), 1);
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    assert!(failure.find::<DeadlineExceeded>().is_some() && failure.take_unsent::<Call>().is_none());
}

/// The same without a handle: whoever does the call has no registry, and what waits is a request of its own.
#[tokio::test(start_paused = true)]
async fn a_request_of_its_own_that_a_service_makes_while_it_is_polled_says_nothing_of_the_call() {
    let executing = backend([done("a")]);
    let audit = ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::hang()]);
    let (executes, audit) = (executing.clone(), reresolving(cache(&audit)));
    let service = service_fn(move |call: Call| {
        let (executes, audit) = (executes.clone(), audit.clone());
        async move {
            let reply = executes.oneshot(call).await?;
            audit.oneshot(Call::write()).await?;
            Ok::<_, BoxError>(reply)
        }
    });
    let retry = ReadOnlyRetryLayer::new(rules()).timing(within(DEADLINE)).budget(ample());
    let failure = ServiceBuilder::new().layer(retry).service(service).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), executing.calls()), (Some(Delivery::MaybeSent), 1));
}

/// What a stack below has sent already is not unsent because its last attempt waits for a handle.
#[tokio::test(start_paused = true)]
async fn an_attempt_of_a_stack_below_that_may_have_been_sent_is_not_forgotten() {
    let lost = backend([fails(Fault::Lost)]);
    let resolver = ScriptedResolver::new([resolved("a", &lost), Step::fail(Fault::Lost), Step::hang()]);
    let below = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(Idempotent).timing(attempts(2)).budget(ample()))
        .service(reresolving(cache(&resolver)));
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(within(DEADLINE)).budget(ample()))
        .service(below);
    let failure = stack.ready().await.unwrap().call(Call::write()).await.unwrap_err();
    assert_eq!((lost.calls(), resolver.resolves()), (1, 3));
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
}

/// A layer in between that sends one request twice, as `tower::hedge` does, and takes the first answer.
#[tokio::test(start_paused = true)]
async fn whoever_has_sent_outweighs_whoever_waits_beside_it() {
    for sent_is_polled_first in [true, false] {
        let executing = backend([Step::hang()]);
        let sent = reresolving(cache(&ScriptedResolver::new([resolved("a", &executing)])));
        let waiting = reresolving(cache(&ScriptedResolver::<ScriptedService<Call, Reply>>::new([Step::hang()])));
        let hedged = service_fn(move |call: Call| {
            let (sent, waiting) = (sent.clone().oneshot(call.clone()), waiting.clone().oneshot(call));
            let [first, second] =
                if sent_is_polled_first { [sent.boxed(), waiting.boxed()] } else { [waiting.boxed(), sent.boxed()] };
            select(first, second).map(|either| either.factor_first().0)
        });
        let retry = ReadOnlyRetryLayer::new(rules()).timing(within(DEADLINE)).budget(ample());
        let failure = ServiceBuilder::new().layer(retry).service(hedged).oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.delivery(), executing.calls()), (Some(Delivery::MaybeSent), 1));
    }
}

/// The transport has it between the two polls.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_with_the_last_poll_is_taken_also_where_it_is_an_error() {
    for fault in [Fault::NoSuchFile, Fault::SessionGone] {
        let handle = service_fn(move |_: Call| {
            let ends = Instant::now() + DEADLINE;
            let mut polls = 0;
            poll_fn(move |_| {
                polls += u32::from(Instant::now() >= ends);
                if polls == 2 { Poll::Ready(Err::<Reply, _>(fault)) } else { Poll::Pending }
            })
        });
        let resolver = ScriptedResolver::new([Step::resolved("a", handle)]);
        let failure = recovering(cache(&resolver), within(DEADLINE)).oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.find()), (Some(Delivery::Answered), Some(&fault)));
        assert!(!failure.is_exhausted());
    }
}
