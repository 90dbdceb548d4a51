//! Suspicion within a stack: what stands between the two layers, what bounds a call, and stacks in stacks.

use std::time::Duration;

use tokio::time::Instant;
use tower::{Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncServiceLayer};
use tower_recovery::{
    CallTiming, ClassifyLayer, DeadlineExceeded, Delivery, Dispatch, Failure, GiveUp, HandleCache, HandleSuperseded,
    ReadOnlyRetryLayer, ReresolveLayer, RetryBudget,
};
use tower_recovery_test::{ScriptedResolver, Step};

use super::{
    Backend, SUSPECT_AFTER, TICK, answering_after, frozen,
    support::{Call, Protocol, Reply, ample, attempts, backend, done, millis, recovering, resolved, resolver, rules},
    suspecting,
};

const LATE: Duration = Duration::from_secs(5);

fn retrying() -> ReadOnlyRetryLayer<tower_recovery::NamedRules<Call>> {
    ReadOnlyRetryLayer::new(rules()).timing(attempts(3)).budget(ample())
}

#[tokio::test(start_paused = true)]
async fn a_buffer_between_the_two_layers_leaves_the_read_waiting_without_an_error() {
    let (old, new) = (answering_after("a", LATE), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let stack = ServiceBuilder::new()
        .layer(retrying())
        .buffer(8)
        .layer(ReresolveLayer::new(suspecting(&resolver).build()))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch);
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), old.dropped(), new.calls()), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn layers_in_between_that_call_at_once_change_nothing() {
    let (old, new) = (frozen(), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new)]);
    let stack = ServiceBuilder::new()
        .layer(retrying())
        .layer(BoxCloneSyncServiceLayer::new(
            ServiceBuilder::new().concurrency_limit(1).timeout(LATE).map_request(|call: Call| call),
        ))
        .layer(ReresolveLayer::new(suspecting(&resolver).build()))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch);
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert_eq!(old.dropped(), 1, "the slot of the attempt that was given up served the next one");
}

/// Sells nothing.
#[derive(Debug)]
struct Broke;

impl RetryBudget for Broke {
    fn deposit(&self, _: u32) {}

    fn withdraw(&self) -> bool {
        false
    }

    fn give_back(&self) {}
}

#[tokio::test(start_paused = true)]
async fn the_repeat_costs_no_permit() {
    let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
    let stack = ServiceBuilder::new()
        .layer(retrying().budget(Broke))
        .layer(ReresolveLayer::new(suspecting(&resolver).build()))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch);
    let begun = Instant::now();
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert!(begun.elapsed() <= SUSPECT_AFTER + TICK, "and waits for no backoff");
}

fn bounded(
    resolver: &ScriptedResolver<Backend>,
    deadline: Duration,
) -> impl Service<Call, Response = Reply, Error = Failure> {
    let timing = CallTiming::builder().deadline(deadline).build().unwrap();
    recovering(suspecting(resolver).build(), timing)
}

#[tokio::test(start_paused = true)]
async fn a_deadline_before_the_suspicion_ends_the_call_and_nobody_is_asked() {
    let old = frozen();
    let resolver = ScriptedResolver::new([resolved("a", &old)]);
    let begun = Instant::now();
    let failure = bounded(&resolver, SUSPECT_AFTER).oneshot(Call::read()).await.unwrap_err();
    assert_eq!((begun.elapsed(), failure.gave_up()), (SUSPECT_AFTER, Some(GiveUp::Deadline)));
    super::pass(LATE).await;
    assert_eq!((resolver.resolves(), old.in_flight()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_during_the_look_up_ends_both() {
    let resolver = ScriptedResolver::new([resolved("a", &frozen()), Step::hang()]);
    let deadline = SUSPECT_AFTER * 2;
    let begun = Instant::now();
    let failure = bounded(&resolver, deadline).oneshot(Call::read()).await.unwrap_err();
    assert_eq!((begun.elapsed(), failure.delivery(), failure.attempts()), (deadline, Some(Delivery::MaybeSent), 1));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_spans_both_attempts_and_says_why_the_first_was_given_up() {
    let second = frozen();
    let resolver = resolver([("a", frozen()), ("b", second.clone())]);
    let deadline = SUSPECT_AFTER * 2;
    let begun = Instant::now();
    let failure = bounded(&resolver, deadline).oneshot(Call::read()).await.unwrap_err();
    assert_eq!((begun.elapsed(), failure.attempts(), second.dropped()), (deadline, 2, 1));
    let exceeded = failure.find::<DeadlineExceeded>().unwrap();
    let last = exceeded.last.as_ref().unwrap();
    assert_eq!((last.delivery(), last.is_stale()), (Some(Delivery::MaybeSent), false));
    let superseded = last.find::<HandleSuperseded>().unwrap();
    assert_eq!((superseded.old.as_str(), superseded.new.as_str()), ("a", "b"));
    assert_eq!(superseded.to_string(), "no answer from a, in whose place the registry names b");
}

/// A retry layer of its own under another one, whose requests it calls `inner`.
fn nested(
    resolver: &ScriptedResolver<Backend>,
    inner: fn(Call) -> Call,
) -> impl Service<Call, Response = Reply, Error = Failure> {
    ServiceBuilder::new()
        .layer(retrying())
        .map_request(inner)
        .service(recovering(suspecting(resolver).build(), attempts(3)))
}

#[tokio::test(start_paused = true)]
async fn an_inner_write_under_an_outer_read_waits_on() {
    let (old, new) = (answering_after("a", LATE), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    assert_eq!(nested(&resolver, |_| Call::write()).oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), old.calls(), new.calls()), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_inner_read_under_an_outer_write_is_given_up_and_repeated_by_the_inner_layer() {
    let (old, new) = (frozen(), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    assert_eq!(nested(&resolver, |_| Call::read()).oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((old.calls(), new.calls()), (1, 1));
}

/// The handle of the outer stack is a stack: the outer one's read is not its inner one's.
#[tokio::test(start_paused = true)]
async fn a_handle_that_is_a_stack_without_a_retry_layer_waits_on_under_an_outer_read() {
    let (old, new) = (answering_after("a", LATE), backend([done("b")]));
    let inner = resolver([("a", old.clone()), ("b", new.clone())]);
    let client = super::support::reresolving(suspecting(&inner).build());
    let outer: HandleCache<_> = super::support::cache(&resolver([("client", client)]));
    assert_eq!(recovering(outer, attempts(3)).oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!((inner.resolves(), old.calls(), new.calls()), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_is_a_whole_stack_recovers_by_itself_before_the_outer_one_is_concerned() {
    let inner = resolver([("a", frozen()), ("b", backend([done("b").delayed(millis(10))]))]);
    let client = recovering(suspecting(&inner).build(), attempts(3));
    let outer = ScriptedResolver::new([Step::resolved("client", client)]);
    let cache = HandleCache::builder(outer.clone(), "outer").suspect_after(SUSPECT_AFTER * 3).unwrap().build();
    assert_eq!(recovering(cache, attempts(3)).oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    assert_eq!((inner.resolves(), outer.resolves()), (2, 1));
}
