//! A plain enum of calls over a registry in memory: what a protocol of one's own needs is one classifier and one set of rules. The
//! service and its future have names, so that they fit into a struct without a box.

use std::{
    pin::Pin,
    task::{self, Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimedOut, AttemptTimeoutLayer, ClassifyLayer, Delivery, Dispatch, Failure, HandleCache, NamedRules,
    ReadMethods, ReadOnlyRetryLayer, ReresolveLayer,
    attempt_timeout::AttemptTimeout,
    classify::ClassifyService,
    read_only_retry::{ReadOnlyRetry, ReadOnlyRetryFuture},
    reresolve::Reresolve,
};

use super::{
    rpc_protocol::{Fate, Instance, Registry, Reply, Rpc, RpcErrors},
    support::erase,
};

type Attempts = Reresolve<ClassifyService<AttemptTimeout<Dispatch>, RpcErrors>, Instance>;
type Stack = ReadOnlyRetry<Attempts, NamedRules<Rpc>>;
type Call = ReadOnlyRetryFuture<Attempts, NamedRules<Rpc>, Rpc>;

fn stack(cache: HandleCache<Instance>) -> Stack {
    let name = |call: &Rpc| match call {
        Rpc::Read { .. } => "read",
        Rpc::Commit { .. } => "commit",
    };
    let rules = NamedRules::new(name, ReadMethods::new().silent("read"))
        .copied_by(|call| Some(call.clone()))
        .silenced_by(|call| match call {
            Rpc::Read { silent, .. } => *silent = silent.or(Some(true)),
            Rpc::Commit { .. } => {}
        });
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules))
        .layer(ReresolveLayer::new(cache))
        .layer(ClassifyLayer::new(RpcErrors))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch)
}

/// A stack that holds a handle to an instance which meets this fate, while the name has moved on to one that serves.
async fn left_behind(fate: Fate) -> (Registry, Stack) {
    let (registry, cache) = Registry::left_behind(fate).await;
    (registry, stack(cache))
}

pin_project! {
    /// A future of a user's own with the call inside it: no box.
    struct Numbered {
        number: u64,
        #[pin]
        call: Call,
    }
}

impl Future for Numbered {
    type Output = (u64, Result<Reply, Failure>);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = task::ready!(this.call.poll(context));
        Poll::Ready((*this.number, outcome))
    }
}

const COMMIT: Rpc = Rpc::Commit { message: "first" };

#[tokio::test(start_paused = true)]
async fn a_write_on_a_handle_that_has_gone_is_done_once_by_the_next_generation() {
    let (registry, stack) = left_behind(Fate::Gone).await;

    assert_eq!(stack.oneshot(COMMIT).await.unwrap(), Reply::Done { generation: 2 });

    assert_eq!(registry.executed(), ["#2 commit first"]);
    assert_eq!(registry.lookups(), 2, "the first, and one re-resolve");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_an_instance_does_not_serve_any_more_is_done_by_the_next_generation() {
    let (registry, stack) = left_behind(Fate::Moved).await;

    assert_eq!(erase(stack).oneshot(COMMIT).await.unwrap(), Reply::Done { generation: 2 });

    assert_eq!(registry.executed(), ["#2 commit first"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_refuses_to_the_last_goes_out_as_the_reply_that_it_is() {
    let (registry, stack) = left_behind(Fate::Moved).await;
    registry.register(Fate::Moved);

    assert_eq!(stack.oneshot(COMMIT).await.unwrap(), Reply::NotHere);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_answers_goes_out_at_once_and_evicts_nothing() {
    let (registry, mut stack) = left_behind(Fate::Denies).await;

    for _ in 0..2 {
        let failure = stack.ready().await.unwrap().call(Rpc::Read { file: "a", silent: None }).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::Answered), 1));
    }

    assert_eq!(registry.lookups(), 1, "the handle is as good as it was");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_an_instance_died_of_is_never_sent_again() {
    let (registry, stack) = left_behind(Fate::Dies).await;

    let failure = erase(stack).oneshot(COMMIT).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert_eq!(registry.executed(), ["#1 commit first"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_an_instance_died_of_is_repeated_in_silence() {
    let (registry, stack) = left_behind(Fate::Dies).await;

    let reply = erase(stack).oneshot(Rpc::Read { file: "a", silent: None }).await.unwrap();

    assert_eq!(reply, Reply::Done { generation: 2 });
    assert_eq!(registry.executed(), ["#1 read a, silent: None", "#2 read a, silent: Some(true)"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_its_caller_wants_counted_is_repeated_as_it_was() {
    let (registry, stack) = left_behind(Fate::Dies).await;

    stack.oneshot(Rpc::Read { file: "a", silent: Some(false) }).await.unwrap();

    assert_eq!(registry.executed(), ["#1 read a, silent: Some(false)", "#2 read a, silent: Some(false)"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_was_never_sent_is_counted_when_it_is_repeated() {
    let (registry, stack) = left_behind(Fate::Gone).await;

    stack.oneshot(Rpc::Read { file: "a", silent: None }).await.unwrap();

    assert_eq!(registry.executed(), ["#2 read a, silent: None"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_on_a_frozen_instance_ends_by_its_timeout_and_evicts_the_handle() {
    let (registry, mut stack) = left_behind(Fate::Freezes).await;

    let failure = stack.ready().await.unwrap().call(COMMIT).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert!(failure.find::<AttemptTimedOut>().is_some_and(|timed_out| timed_out.handed_over));
    assert_eq!(stack.ready().await.unwrap().call(COMMIT).await.unwrap(), Reply::Done { generation: 2 });
    assert_eq!(registry.executed(), ["#2 commit first"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_kept_in_a_struct_by_the_name_of_its_future() {
    let (_registry, mut stack) = left_behind(Fate::Gone).await;

    let numbered = Numbered { number: 7, call: stack.ready().await.unwrap().call(COMMIT) };

    let (number, outcome) = tokio::spawn(numbered).await.unwrap();
    assert_eq!((number, outcome.unwrap()), (7, Reply::Done { generation: 2 }));
}
