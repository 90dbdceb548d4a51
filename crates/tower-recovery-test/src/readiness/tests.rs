use std::{
    convert::Infallible,
    future::{Ready, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use tower::{ServiceExt, limit::ConcurrencyLimit};
use tower_service::Service;

use super::*;
use crate::Gate;

#[derive(Clone)]
struct Echo;

impl<Request> Service<Request> for Echo {
    type Response = Request;
    type Error = &'static str;
    type Future = Ready<Result<Request, &'static str>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Ok(request))
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Polls readiness once, and says whether the task was woken during it.
fn poll<Inner>(service: &mut Inner) -> (Poll<Result<(), Inner::Error>>, bool)
where
    Inner: Service<u8>,
{
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let polled = service.poll_ready(&mut Context::from_waker(&waker));
    (polled, wakes.0.load(Relaxed) > 0)
}

const READY: (Poll<Result<(), &str>>, bool) = (Poll::Ready(Ok(())), false);

#[test]
fn a_readied_instance_is_called_once_and_then_panics() {
    let mut probe = ReadinessProbe::new(Echo);
    let counts = probe.counts();
    assert_eq!(poll(&mut probe), READY);
    assert_eq!(poll(&mut probe), READY);
    drop(probe.call(1));
    assert_eq!((counts.readied(), counts.called()), (1, 1));

    let again = catch_unwind(AssertUnwindSafe(|| probe.call(2)));
    assert!(again.is_err());
    assert_eq!((counts.called(), counts.called_unready()), (1, 1));
    assert_eq!((counts.ready_now(), counts.dropped_ready()), (0, 0));
}

#[test]
#[should_panic(expected = "not readied since its last call")]
fn a_clone_of_a_ready_instance_is_unready() {
    let mut probe = ReadinessProbe::new(Echo);
    assert_eq!(poll(&mut probe), READY);
    drop(probe.clone().call(1));
}

#[test]
fn an_original_stays_ready_when_it_is_cloned_or_moved() {
    let mut probe = ReadinessProbe::new(Echo);
    let counts = probe.counts();
    assert_eq!(poll(&mut probe), READY);
    let clone = probe.clone();
    drop(std::mem::replace(&mut probe, clone).call(1));
    assert_eq!((counts.readied(), counts.called()), (1, 1));
    assert_eq!(counts.dropped_ready(), 0);
}

#[test]
fn dropping_a_ready_instance_is_counted_and_dropping_others_is_not() {
    let mut reserved = ReadinessProbe::new(Echo);
    let counts = reserved.counts();
    let mut used = reserved.clone();
    let unready = reserved.clone();
    assert_eq!((poll(&mut reserved), poll(&mut used)), (READY, READY));
    assert_eq!(counts.ready_now(), 2);
    drop(used.call(1));
    drop((used, unready));
    assert_eq!((counts.ready_now(), counts.dropped_ready()), (1, 0));
    drop(reserved);
    assert_eq!((counts.ready_now(), counts.dropped_ready()), (0, 1));
}

#[test]
fn a_probe_is_as_ready_as_what_it_is_around() {
    let mut first = ReadinessProbe::new(ConcurrencyLimit::new(Echo, 1));
    let mut second = first.clone();
    assert_eq!(poll(&mut first), READY);
    assert_eq!(poll(&mut second).0, Poll::Pending);
    assert_eq!(first.counts().readied(), 1);
    drop(first);
    assert_eq!(poll(&mut second), READY);
}

#[test]
fn an_error_takes_readiness_away() {
    struct FailsSecond(usize);

    impl Service<u8> for FailsSecond {
        type Response = u8;
        type Error = &'static str;
        type Future = Ready<Result<u8, &'static str>>;

        fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
            self.0 += 1;
            Poll::Ready(if self.0 == 2 { Err("gone") } else { Ok(()) })
        }

        fn call(&mut self, request: u8) -> Self::Future {
            ready(Ok(request))
        }
    }

    let mut probe = ReadinessProbe::new(FailsSecond(0));
    assert_eq!(poll(&mut probe), READY);
    assert_eq!(poll(&mut probe).0, Poll::Ready(Err("gone")));
    assert_eq!(probe.counts().ready_now(), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| probe.call(1))).is_err());
}

#[test]
fn a_pending_step_wakes_at_each_poll_and_then_is_ready_until_the_call() {
    let mut service = ScriptedReadiness::new(Echo, [ReadyStep::Pending { times: 2 }]);
    assert_eq!(poll(&mut service), (Poll::Pending, true));
    assert_eq!(poll(&mut service), (Poll::Pending, true));
    assert_eq!(poll(&mut service), READY);
    assert_eq!(poll(&mut service), READY);
    drop(service.call(1));
    assert_eq!(poll(&mut service), READY, "the script has ended");
}

#[test]
fn a_gated_step_is_pending_and_woken_by_the_gate() {
    let gate = Gate::new();
    let mut service = ScriptedReadiness::new(Echo, [ReadyStep::Until(gate.clone())]);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    let mut readied = pin!(ServiceExt::<u8>::ready(&mut service));
    assert!(readied.as_mut().poll(&mut context).is_pending());
    assert_eq!(wakes.0.load(Relaxed), 0);
    gate.open();
    assert_eq!(wakes.0.load(Relaxed), 1);
    assert!(readied.as_mut().poll(&mut context).is_ready());
}

#[test]
fn clones_take_the_steps_in_turns() {
    let steps = [ReadyStep::Fail("gone"), ReadyStep::Pending { times: 1 }];
    let mut first = ScriptedReadiness::new(Echo, steps);
    let mut second = first.clone();
    assert_eq!(poll(&mut first).0, Poll::Ready(Err("gone")));
    assert_eq!(poll(&mut second), (Poll::Pending, true));
    assert_eq!(poll(&mut first), READY);
    assert_eq!(poll(&mut second), READY);
    assert_eq!(poll(&mut second.clone()), READY);
}

#[test]
fn a_step_comes_before_the_inner_readiness() {
    let limit = ConcurrencyLimit::new(Echo, 1);
    let mut first = ScriptedReadiness::new(limit, [ReadyStep::Pending { times: 1 }]);
    let mut second = first.clone();
    assert_eq!(poll(&mut first), (Poll::Pending, true));
    assert_eq!(poll(&mut second), READY);
    assert_eq!(poll(&mut first), (Poll::Pending, false));
    drop(second);
    assert_eq!(poll(&mut first), READY);
}

#[test]
fn request_response_and_error_pass_untouched() {
    let wrapped = ReadinessProbe::new(ScriptedReadiness::new(Echo, [ReadyStep::Ready]));
    let mut call = pin!(wrapped.oneshot("hello"));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(Ok("hello")));

    fn needs_infallible<Inner: Service<(), Error = Infallible>>(_: &Inner) {}
    needs_infallible(&ReadinessProbe::new(tower::service_fn(|()| ready(Ok::<_, Infallible>(())))));
}
