//! `Dispatch`: readies the handle, then calls it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use std::{panic::AssertUnwindSafe, pin::Pin};

use futures_util::FutureExt;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{Service, ServiceExt, limit::ConcurrencyLimit};
use tower_recovery::{
    Addressed, Dispatch, Failure, HandleCache, Handover, NotReady, Verdict, dispatch::DispatchFuture,
};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, Step};

use self::support::{Call, Fault, Reply, Tracked, backend, cache, done, fails, poll_woken, resolver};

/// A request with its handle, as `Reresolve` would send it.
async fn addressed<Handle: Clone + Send + 'static>(handle: Handle, request: Call) -> Addressed<Handle, Call> {
    let cache: HandleCache<Handle> = cache(&resolver([("a", handle)]));
    let held = cache.acquire().await.unwrap();
    Addressed { handle: held.handle, lease: held.lease, request }
}

/// The call on this handle, not polled yet.
async fn dispatched<Handle>(handle: Handle) -> DispatchFuture<Handle, Call>
where
    Handle: Service<Call, Response = Reply, Error = tower::BoxError> + Clone + Send + 'static,
{
    Dispatch.call(addressed(handle, Call::write().with_key(7)).await)
}

#[tokio::test]
async fn request_and_answer_pass_untouched() {
    let handle = backend([done("a")]);
    assert_eq!(dispatched(handle.clone()).await.await.unwrap(), Reply::Done("a"));
    assert_eq!(handle.requests(), [Call::write().with_key(7)]);
}

#[tokio::test]
async fn an_error_of_the_call_goes_out_as_it_is() {
    let error = dispatched(backend([fails(Fault::Lost)])).await.await.unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&Fault::Lost));
}

#[tokio::test]
async fn it_is_ready_whatever_its_handles_are() {
    let never_ready = ScriptedReadiness::new(backend([]), [ReadyStep::Until(Gate::new())]);
    let request = addressed(never_ready, Call::write()).await;

    assert!(is_ready_for(&request));
    let mut call = task::spawn(Dispatch.call(request));
    assert_pending!(call.poll());
}

fn is_ready_for<Request>(_: &Request) -> bool
where
    Dispatch: Service<Request>,
{
    ServiceExt::<Request>::ready(&mut Dispatch).now_or_never().is_some_and(|readied| readied.is_ok())
}

#[tokio::test]
async fn the_handle_is_readied_before_it_is_called() {
    let gate = Gate::new();
    let slow = ScriptedReadiness::new(backend([done("a")]), [ReadyStep::Until(gate.clone())]);
    let probe = ReadinessProbe::new(slow);
    let counts = probe.counts();
    let mut call = task::spawn(dispatched(probe).await);

    assert_pending!(call.poll());
    assert!(!call.is_woken());
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
    assert_eq!((counts.called(), counts.called_unready()), (1, 0));
}

#[tokio::test]
async fn calls_over_a_limited_handle_take_their_turns() {
    let gate = Gate::new();
    let handle = ConcurrencyLimit::new(backend([done("first").behind(&gate), done("second")]), 1);
    let mut first = task::spawn(dispatched(handle.clone()).await);
    let mut second = task::spawn(dispatched(handle).await);

    assert_pending!(first.poll());
    assert_pending!(second.poll());
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut first)), Reply::Done("first"));
    drop(first);
    assert_eq!(assert_ready_ok!(poll_woken(&mut second)), Reply::Done("second"));
}

#[tokio::test]
async fn a_handle_that_cannot_be_readied_gives_the_request_back() {
    let handle = ScriptedReadiness::new(backend([]), [ReadyStep::Fail(Fault::Lost.into())]);
    let failure = Failure::recover(dispatched(handle).await.await.unwrap_err());

    assert_eq!(failure.verdict(), Verdict::never_sent().stale());
    assert!(failure.cause().unwrap().is::<NotReady>());
    assert_eq!(failure.find::<Fault>(), Some(&Fault::Lost));
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(7)));
}

#[tokio::test]
async fn a_call_dropped_before_its_handle_is_ready_sends_nothing() {
    for polls in 0..3 {
        let scripted = backend([done("a")]);
        let handle = Tracked::new(ScriptedReadiness::new(scripted.clone(), [ReadyStep::Until(Gate::new())]));
        let copies = handle.copies();
        let mut call = task::spawn(dispatched(handle).await);
        for _ in 0..polls {
            assert_pending!(call.poll());
        }
        drop(call);
        assert_eq!((scripted.calls(), copies.strong_count()), (0, 0), "after {polls} polls");
    }
}

#[tokio::test]
async fn a_call_dropped_later_drops_the_call_of_the_handle() {
    let scripted = backend([Step::hang()]);
    let mut call = task::spawn(dispatched(scripted.clone()).await);
    assert_pending!(call.poll());
    assert_eq!(scripted.in_flight(), 1);
    drop(call);
    assert_eq!((scripted.in_flight(), scripted.dropped()), (0, 1));
}

#[tokio::test]
async fn the_handle_lives_as_long_as_its_call() {
    let gate = Gate::new();
    let handle = Tracked::new(backend([done("a").behind(&gate)]));
    let copies = handle.copies();
    let mut call = task::spawn(dispatched(handle).await);

    assert_pending!(call.poll());
    assert_eq!(copies.strong_count(), 1, "the cache has gone, the call keeps the handle open");
    gate.open();
    assert_ready_ok!(poll_woken(&mut call));
    drop(call);
    assert_eq!(copies.strong_count(), 0);
}

#[tokio::test]
async fn until_the_handle_is_ready_the_request_can_be_taken_back() {
    let scripted = backend([done("a")]);
    let gate = Gate::new();
    let handle = ScriptedReadiness::new(scripted.clone(), [ReadyStep::Until(gate)]);
    let mut call = task::spawn(dispatched(handle).await);
    assert_pending!(call.poll());

    assert!(!call.is_handed_over());
    let taken = call.enter(|_, call| call.take_unsent()).unwrap();
    assert_eq!(*taken.downcast::<Call>().unwrap(), Call::write().with_key(7));
    assert!(call.enter(|_, call| call.take_unsent()).is_none());
    assert_eq!(scripted.calls(), 0);
}

#[tokio::test]
async fn once_the_handle_is_called_the_request_is_handed_over() {
    let mut call = task::spawn(dispatched(backend([Step::hang()])).await);
    assert!(!call.is_handed_over());
    assert_pending!(call.poll());
    assert!(call.is_handed_over());
    assert!(call.enter(|_, call: Pin<&mut _>| call.take_unsent()).is_none());
}

#[tokio::test]
async fn an_error_of_the_handle_is_woken_for() {
    let gate = Gate::new();
    let mut call = task::spawn(dispatched(backend([fails(Fault::Lost).behind(&gate)])).await);
    assert_pending!(call.poll());
    gate.open();
    let error = assert_ready_err!(poll_woken(&mut call));
    assert_eq!(error.downcast_ref(), Some(&Fault::Lost));
}

#[tokio::test]
async fn a_panic_of_the_handle_takes_down_its_own_call_alone() {
    let handle = backend([Step::panic_in_call(), Step::panic_in_poll(), done("a")]);
    for _ in 0..2 {
        // The handle is called within the future, so what polls it is what goes down.
        let call = dispatched(handle.clone()).await;
        assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
    }
    assert_eq!(dispatched(handle).await.await.unwrap(), Reply::Done("a"));
}
