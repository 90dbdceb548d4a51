//! What every layer owes, also to the instances of further attempts.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::FutureExt;
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{BoxError, Service, ServiceExt, limit::ConcurrencyLimit};
use tower_recovery::{Delivery, NotReady};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, ScriptedService, Step};

use super::{
    retrying,
    support::{Call, Fault, Reply, attempts, backend, contract, done, fails, poll_woken},
};

#[tokio::test(start_paused = true)]
async fn request_answer_and_error_pass_untouched() {
    let backend = backend([done("a"), Step::answer(Reply::Error(500)), fails(Fault::NoSuchFile)]);
    let mut stack = retrying(backend.clone(), attempts(3));
    let call = Call::counted_read().with_key(7).with_silent(false);

    assert_eq!(stack.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Done("a"));
    assert_eq!(stack.ready().await.unwrap().call(call.clone()).await.unwrap(), Reply::Error(500));
    let failure = stack.ready().await.unwrap().call(call.clone()).await.unwrap_err();
    assert_eq!((failure.verdict(), failure.find()), (Fault::NoSuchFile.verdict(), Some(&Fault::NoSuchFile)));
    assert_eq!(backend.requests(), [call.clone(), call.clone(), call]);
}

#[tokio::test]
async fn it_calls_only_what_was_readied() {
    let probe = ReadinessProbe::new(backend([done("a")]));
    let counts = probe.counts();
    contract::it_calls_only_what_was_readied(retrying(probe, attempts(3)), &counts).await;
}

#[tokio::test(start_paused = true)]
async fn further_attempts_are_readied_too_and_leave_no_reservation_behind() {
    let probe = ReadinessProbe::new(backend([fails(Fault::NotWritten), fails(Fault::NotWritten), done("a")]));
    let counts = probe.counts();
    let mut stack = retrying(probe, attempts(3));
    assert_eq!(stack.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!((counts.readied(), counts.called(), counts.called_unready()), (3, 3, 0));
    assert_eq!((counts.ready_now(), counts.dropped_ready()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_gives_its_slot_to_the_next() {
    let limited = ConcurrencyLimit::new(backend([fails(Fault::NotWritten), fails(Fault::NotWritten), done("a")]), 1);
    assert_eq!(retrying(limited, attempts(3)).oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test]
async fn a_clone_starts_unready_and_a_dropped_instance_frees_its_slot() {
    let limited = ConcurrencyLimit::new(backend([done("a")]), 1);
    contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(retrying(limited, attempts(3))).await;
}

#[tokio::test]
async fn a_dropped_call_frees_its_slot() {
    let limited = ConcurrencyLimit::new(backend([Step::hang()]), 1);
    contract::a_dropped_call_frees_its_slot(retrying(limited, attempts(3)));
}

#[tokio::test(start_paused = true)]
async fn a_further_attempt_waits_for_its_readiness_within_the_call() {
    let gate = Gate::new();
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let slow = ScriptedReadiness::new(backend.clone(), [ReadyStep::Ready, ReadyStep::Until(gate.clone())]);
    let mut call = task::spawn(retrying(slow, attempts(3)).oneshot(Call::write()));

    assert_pending!(call.poll());
    tokio::time::advance(std::time::Duration::from_millis(100)).await;
    assert_pending!(poll_woken(&mut call));
    assert!(!call.is_woken());
    assert_eq!(backend.calls(), 1);
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_ends_the_call() {
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let breaks = ScriptedReadiness::new(backend.clone(), [ReadyStep::Ready, ReadyStep::Fail(Fault::Foreign.into())]);
    let failure = retrying(breaks, attempts(3)).oneshot(Call::write()).await.unwrap_err();

    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 1));
    assert!(failure.find::<NotReady>().is_some());
    assert_eq!(failure.find(), Some(&Fault::Foreign));
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_does_not_hide_that_a_read_may_have_been_counted() {
    let backend = backend([fails(Fault::Garbled)]);
    let breaks = ScriptedReadiness::new(backend, [ReadyStep::Ready, ReadyStep::Fail(Fault::Foreign.into())]);
    let failure = retrying(breaks, attempts(3)).oneshot(Call::counted_read()).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
}

#[tokio::test(start_paused = true)]
async fn a_panic_below_takes_down_its_own_call_alone() {
    for panics in [Step::panic_in_call(), Step::panic_in_poll()] {
        // In a further attempt, which comes from the template that all calls of the clone share.
        let backend = backend([fails(Fault::NotWritten), panics, fails(Fault::NotWritten), done("a")]);
        let mut stack = retrying(backend.clone(), attempts(3));
        let call = stack.ready().await.unwrap().call(Call::write());
        assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());

        assert_eq!(stack.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("a"));
        assert_eq!((backend.calls(), backend.in_flight()), (4, 0));
    }
}

/// Counts how often it is cloned, and how often it was ready then.
struct CountsClones {
    inner: ScriptedService<Call, Reply>,
    ready: bool,
    clones: Arc<AtomicUsize>,
    ready_clones: Arc<AtomicUsize>,
}

impl Clone for CountsClones {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::Relaxed);
        self.ready_clones.fetch_add(usize::from(self.ready), Ordering::Relaxed);
        Self {
            inner: self.inner.clone(),
            ready: false,
            clones: Arc::clone(&self.clones),
            ready_clones: Arc::clone(&self.ready_clones),
        }
    }
}

impl Service<Call> for CountsClones {
    type Response = Reply;
    type Error = BoxError;
    type Future = <ScriptedService<Call, Reply> as Service<Call>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.ready = true;
        Service::<Call>::poll_ready(&mut self.inner, context)
    }

    fn call(&mut self, request: Call) -> Self::Future {
        self.ready = false;
        self.inner.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_clones_its_inner_once_for_each_further_attempt_and_never_a_ready_one() {
    let backend = backend([done("a"), fails(Fault::NotWritten), fails(Fault::NotWritten), done("a")]);
    let (clones, ready_clones) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let counting = CountsClones {
        inner: backend,
        ready: false,
        clones: Arc::clone(&clones),
        ready_clones: Arc::clone(&ready_clones),
    };
    let mut stack = retrying(counting, attempts(3));

    let before = clones.load(Ordering::Relaxed);
    stack.ready().await.unwrap().call(Call::write()).await.unwrap();
    assert_eq!(clones.load(Ordering::Relaxed) - before, 0, "the first attempt is called in place");
    stack.ready().await.unwrap().call(Call::write()).await.unwrap();
    assert_eq!(clones.load(Ordering::Relaxed) - before, 2);
    assert_eq!(ready_clones.load(Ordering::Relaxed), 0);
}
