//! What the tests of the layers share: a small protocol with its requests, faults and rules; backends; stacks; polling by hand.

#![allow(dead_code, unused_imports, reason = "each test crate uses its own part")]

pub(crate) mod contract;
mod handed_over;
pub(crate) mod log;
mod protocol;
mod tracked;

use std::{future::poll_fn, task::Poll, time::Duration};

use tokio_test::task::Spawn;
use tower::{BoxError, Service, ServiceBuilder};
use tower_recovery::{
    CallTiming, ClassifyLayer, Dispatch, Failure, HandleCache, ReadOnlyRetryLayer, ReresolveLayer, Resolved,
    ShareBudget,
};
use tower_recovery_test::{ScriptedResolver, ScriptedService, Step};

pub(crate) use self::{
    handed_over::HandedOver,
    protocol::{Call, Fault, Idempotent, Protocol, Reply, rules, rules_without_copies},
    tracked::Tracked,
};

/// A backend that answers by a script.
pub(crate) fn backend(steps: impl IntoIterator<Item = Step<Reply>>) -> ScriptedService<Call, Reply> {
    ScriptedService::new(steps)
}

/// The backend executes the call and says who it is.
pub(crate) fn done(by: &'static str) -> Step<Reply> {
    Step::answer(Reply::Done(by))
}

pub(crate) fn fails(fault: Fault) -> Step<Reply> {
    Step::fail(fault)
}

pub(crate) fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A timing without a deadline.
pub(crate) fn attempts(number: u32) -> CallTiming {
    CallTiming::builder().attempts(number).build().unwrap()
}

/// A cache whose resolves wait for nothing.
pub(crate) fn cache<Handle: Clone + Send + 'static>(resolver: &ScriptedResolver<Handle>) -> HandleCache<Handle> {
    HandleCache::builder(resolver.clone(), "service").resolve_floor(Duration::ZERO, Duration::ZERO).build()
}

/// A resolver that names these instances one after the other, and the last one from then on.
pub(crate) fn resolver<Handle: Clone + Send + 'static>(
    instances: impl IntoIterator<Item = (&'static str, Handle)>,
) -> ScriptedResolver<Handle> {
    ScriptedResolver::new(instances.into_iter().map(|(identity, handle)| Step::resolved(identity, handle)))
}

pub(crate) fn resolved<Handle: Clone + Send + 'static>(
    identity: &'static str,
    handle: &Handle,
) -> Step<Resolved<Handle>> {
    Step::resolved(identity, handle.clone())
}

/// A budget that forbids nothing, for tests of something else.
pub(crate) fn ample() -> ShareBudget {
    ShareBudget::builder().reserve(1_000).ceiling(1_000).build().unwrap()
}

/// The stack without its retry.
pub(crate) fn reresolving<Handle>(
    cache: HandleCache<Handle>,
) -> impl Service<Call, Response = Reply, Error = Failure, Future: Send> + Clone + Send + 'static
where
    Handle: Service<Call, Response = Reply, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    ServiceBuilder::new().layer(ReresolveLayer::new(cache)).layer(ClassifyLayer::new(Protocol)).service(Dispatch)
}

/// The stack with its retry, but for the timeout of an attempt.
pub(crate) fn recovering<Handle>(
    cache: HandleCache<Handle>,
    timing: CallTiming,
) -> impl Service<Call, Response = Reply, Error = Failure, Future: Send> + Clone + Send + 'static
where
    Handle: Service<Call, Response = Reply, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(timing).budget(ample()))
        .layer(ReresolveLayer::new(cache))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch)
}

/// Polls a task that must have been woken: a lost wake-up fails here and hangs nowhere.
#[track_caller]
pub(crate) fn poll_woken<Task: Future>(task: &mut Spawn<Task>) -> Poll<Task::Output> {
    assert!(task.is_woken(), "a wake-up was lost");
    task.poll()
}

/// Wakes its task while it is polled, and is pending once.
pub(crate) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
