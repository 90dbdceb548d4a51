//! Law 12: on the happy path the layers allocate nothing beyond the copy that the rules make.

use std::{
    convert::Infallible,
    error::Error,
    future::{Ready, ready},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use allocation_counter::{AllocationInfo, measure};
use tower::{Service, ServiceBuilder, service_fn, util::ServiceFn};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, Classify, ClassifyLayer, Dispatch, Failure, HandleCache, NamedRules, ReadMethods,
    ReadOnlyRetryLayer, ReresolveLayer, Resolved, Verdict,
};

const CALLS: u64 = 1000;

#[derive(Clone, Copy)]
struct NoErrors;

impl Classify<u64> for NoErrors {
    fn response(&self, _: &u64) -> Option<Verdict> {
        None
    }

    fn error(&self, _: &(dyn Error + 'static)) -> Verdict {
        Verdict::unrecognised()
    }
}

fn double(request: u64) -> Ready<Result<u64, Infallible>> {
    ready(Ok(2 * request))
}

type Double = ServiceFn<fn(u64) -> Ready<Result<u64, Infallible>>>;

fn rules() -> NamedRules<u64> {
    NamedRules::new(|_| "double", ReadMethods::new()).copied_by(|request| Some(*request))
}

fn cache() -> HandleCache<Double> {
    HandleCache::new(
        service_fn(|()| ready(Ok::<_, Infallible>(Resolved::new("one", service_fn(double as fn(u64) -> _))))),
        (),
    )
}

/// One call, by hand: an executor would bring allocations of its own.
fn call(stack: &mut impl Service<u64, Response = u64, Error = Failure>, request: u64) -> u64 {
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(stack.poll_ready(&mut context), Poll::Ready(Ok(()))));
    let future = pin!(stack.call(request));
    match future.poll(&mut context) {
        Poll::Ready(Ok(response)) => response,
        other => panic!("the answer is there at once, not {other:?}"),
    }
}

fn thousand_calls(stack: &mut impl Service<u64, Response = u64, Error = Failure>) -> AllocationInfo {
    measure(|| {
        for request in 0..CALLS {
            assert_eq!(call(stack, request), 2 * request);
        }
    })
}

// The resolve of the first call bounds itself with a timer, which needs a runtime to exist.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be built")
}

#[test]
fn classify_reresolve_and_retry_over_a_bare_service_allocate_nothing_a_call() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()))
        .layer(ReresolveLayer::new(cache()))
        .layer(ClassifyLayer::new(NoErrors))
        .service(Dispatch);

    let first = measure(|| assert_eq!(call(&mut stack, 1), 2));
    assert!(first.count_total > 0, "the first call resolves, and the counter must see it");
    call(&mut stack, 1);

    assert_eq!(thousand_calls(&mut stack).count_total, 0);
}

#[test]
fn an_attempt_timeout_and_a_deadline_allocate_nothing_either() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let timing = CallTiming::builder().deadline(Duration::from_secs(3)).build().unwrap();
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(timing))
        .layer(ReresolveLayer::new(cache()))
        .layer(ClassifyLayer::new(NoErrors))
        .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
        .service(Dispatch);
    call(&mut stack, 1);
    call(&mut stack, 1);

    assert_eq!(thousand_calls(&mut stack).count_total, 0);
}

#[test]
fn the_copy_that_the_rules_make_is_all_that_a_call_allocates() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let boxing = NamedRules::new(|_: &u64| "double", ReadMethods::new()).copied_by(|request| {
        drop(std::hint::black_box(Box::new(*request)));
        Some(*request)
    });
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(boxing))
        .layer(ReresolveLayer::new(cache()))
        .layer(ClassifyLayer::new(NoErrors))
        .service(Dispatch);
    call(&mut stack, 1);
    call(&mut stack, 1);

    assert_eq!(thousand_calls(&mut stack).count_total, CALLS);
}

/// Pending once, as a healthy call over a socket is, and ready when it is polled again.
#[derive(Clone, Copy)]
struct PendingOnce {
    request: u64,
    polled: bool,
}

impl Future for PendingOnce {
    type Output = Result<u64, Infallible>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if std::mem::replace(&mut self.polled, true) { Poll::Ready(Ok(2 * self.request)) } else { Poll::Pending }
    }
}

#[test]
fn reads_that_are_pending_once_under_suspicion_allocate_nothing_either() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let handle = service_fn(|request| PendingOnce { request, polled: false });
    let resolver = service_fn(move |()| ready(Ok::<_, Infallible>(Resolved::new("one", handle))));
    let suspicious = HandleCache::builder(resolver, ()).suspect_after(Duration::from_secs(1)).unwrap().build();
    let reads = NamedRules::new(|_: &u64| "double", ReadMethods::new().read("double")).copied_by(|call| Some(*call));
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(reads))
        .layer(ReresolveLayer::new(suspicious))
        .layer(ClassifyLayer::new(NoErrors))
        .service(Dispatch);
    let mut call = |request| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(stack.poll_ready(&mut context).is_ready());
        let mut future = pin!(stack.call(request));
        // A first call resolves, and starts the tick.
        while future.as_mut().poll(&mut context).map(|reply| assert_eq!(reply.unwrap(), 2 * request)).is_pending() {}
    };
    call(1);
    call(1);
    assert_eq!(runtime.metrics().num_alive_tasks(), 1, "the reads are waited for");

    let calls = measure(|| (0..CALLS).for_each(&mut call));
    assert_eq!(calls.count_total, 0);
}
