//! The stack that is measured: Classify, Reresolve and ReadOnlyRetry over a bare service, with a request that needs no copy.

use std::{
    convert::Infallible,
    error::Error,
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use tokio::runtime::Runtime;
use tower::{Service, ServiceBuilder, service_fn, util::ServiceFn};
use tower_recovery::{
    Classify, ClassifyLayer, Dispatch, HandleCache, NamedRules, ReadMethods, ReadOnlyRetryLayer, ReresolveLayer,
    Resolved, Verdict, classify::ClassifyService, read_only_retry::ReadOnlyRetry, reresolve::Reresolve,
};

/// The bare service: it answers at once.
pub type Double = ServiceFn<fn(u64) -> Ready<Result<u64, Infallible>>>;

/// Makes the bare service.
#[must_use]
pub fn bare() -> Double {
    service_fn(|request| ready(Ok(2 * request)))
}

/// A classifier with nothing to say.
#[derive(Clone, Copy, Debug)]
pub struct NoErrors;

impl Classify<u64> for NoErrors {
    fn response(&self, _: &u64) -> Option<Verdict> {
        None
    }

    fn error(&self, _: &(dyn Error + 'static)) -> Verdict {
        Verdict::unrecognised()
    }
}

/// The three layers over [`Double`].
pub type Stack = ReadOnlyRetry<Reresolve<ClassifyService<Dispatch, NoErrors>, Double>, NamedRules<u64>>;

/// A stack whose handle is resolved, and the runtime that resolving needed.
#[must_use]
pub fn warm_stack() -> (Runtime, Stack) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be built");
    let resolver = service_fn(|()| ready(Ok::<_, Infallible>(Resolved::new("one", bare()))));
    let rules = NamedRules::new(|_| "double", ReadMethods::new()).copied_by(|request| Some(*request));
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules))
        .layer(ReresolveLayer::new(HandleCache::new(resolver, ())))
        .layer(ClassifyLayer::new(NoErrors))
        .service(Dispatch);
    // The first call resolves the handle, the second takes this clone's copy of it.
    let entered = runtime.enter();
    call(&mut stack, 1);
    call(&mut stack, 1);
    drop(entered);
    (runtime, stack)
}

/// One call of a service that answers at once, driven by hand: an executor has costs of its own.
///
/// # Panics
///
/// If the service is not ready, or does not answer at once.
pub fn call<Stack: Service<u64, Response = u64>>(stack: &mut Stack, request: u64) -> u64 {
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(stack.poll_ready(&mut context), Poll::Ready(Ok(()))), "the service is ready");
    match pin!(stack.call(request)).poll(&mut context) {
        Poll::Ready(Ok(response)) => response,
        Poll::Ready(Err(_)) | Poll::Pending => panic!("the service answers at once"),
    }
}
