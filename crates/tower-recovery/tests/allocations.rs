//! Law 12: on the happy path the layers allocate nothing beyond the copy that the rules make.

use std::{
    convert::Infallible,
    error::Error,
    future::{Ready, ready},
    pin::pin,
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
