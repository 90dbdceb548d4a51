//! Failures that others reported in public, each by its number: those of the whole stack.

use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{Delivery, Failure, NotReady, ResolveError};
use tower_recovery_test::{Gate, ReadyStep, ScriptedReadiness, ScriptedResolver, Step};

use super::{
    support::{Call, Fault, Reply, attempts, backend, cache, done, fails, resolved, resolver},
    whole,
};

#[tokio::test(start_paused = true)]
async fn b38_a_stack_under_a_buffer_survives_every_failure_of_resolving_and_connecting() {
    let refused = || resolved("a", &backend([fails(Fault::ConnectionRefused)]));
    let resolver = ScriptedResolver::new([
        Step::fail(Fault::NoSuchFile),
        Step::fail_ready(Fault::Lost),
        refused(),
        refused(),
        resolved("b", &backend([done("b")])),
    ]);
    let mut stack = whole(cache(&resolver), attempts(1));
    let mut buffer = ServiceBuilder::new().buffer(4).service(stack.clone());

    for by_resolving in [true, true, false, false] {
        let error = buffer.ready().await.expect("no failure comes out of readiness").call(Call::write()).await;
        let failure = Failure::recover(error.unwrap_err());
        assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
        assert_eq!(failure.find::<ResolveError>().is_some(), by_resolving);
        stack.ready().await.expect("no failure comes out of readiness below either");
    }
    let mut clone = buffer.clone();
    assert_eq!(buffer.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(clone.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!(resolver.resolves(), 4, "the one that could not be readied was never called");
}

/// The reconnecting service of the report is a handle here: what it cannot connect to comes out of its `poll_ready`.
#[tokio::test(start_paused = true)]
async fn b38_a_handle_that_cannot_connect_in_poll_ready_leaves_the_worker_of_a_buffer_alive() {
    let down = || ScriptedReadiness::new(backend([]), [ReadyStep::Fail(Fault::ConnectionRefused.into())]);
    let up = ScriptedReadiness::new(backend([done("a")]), []);
    let resolver = resolver([("a", down()), ("a", down()), ("a", down()), ("a", up)]);
    let buffer = ServiceBuilder::new().buffer(4).service(whole(cache(&resolver), attempts(1)));
    let clone = buffer.clone();
    for _ in 0..3 {
        let failure = Failure::recover(buffer.clone().oneshot(Call::write()).await.unwrap_err());
        assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
        assert_eq!((failure.find::<NotReady>().is_some(), failure.find()), (true, Some(&Fault::ConnectionRefused)));
    }
    assert_eq!(buffer.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(clone.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 4);
}

/// A handle that panics for the call with key 13, in `call` or when its future is polled.
fn superstitious(
    in_call: bool,
) -> impl Service<Call, Response = Reply, Error = Fault, Future: Send> + Clone + Send + Sync + 'static {
    service_fn(move |call: Call| {
        assert!(!in_call || call.key != 13, "a panic in call");
        async move {
            tokio::task::yield_now().await;
            assert!(call.key != 13, "a panic in poll");
            Ok(Reply::Done("a"))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn b103_a_panic_in_one_call_fails_that_call_alone() {
    for in_call in [true, false] {
        let resolver = resolver([("a", superstitious(in_call))]);
        let stack = whole(cache(&resolver), attempts(3));
        let keys = [1, 2, 13, 3, 4, 5];
        let calls = keys.map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key))));
        for (key, call) in keys.into_iter().zip(calls) {
            match call.await {
                Ok(reply) => assert_eq!((reply.unwrap(), key != 13), (Reply::Done("a"), true)),
                Err(error) => assert!(error.is_panic() && key == 13),
            }
        }
        assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
        assert_eq!(resolver.resolves(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn b103_a_panic_in_one_call_leaves_the_worker_of_a_buffer_alive() {
    for in_call in [true, false] {
        let stack = ServiceBuilder::new()
            .buffer(8)
            .service(whole(cache(&resolver([("a", superstitious(in_call))])), attempts(3)));
        // Warm: the worker calls the stack on a live handle, and it must not be the handle's panic that it meets.
        assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
        let keys = [1, 2, 13, 3, 4, 5];
        let calls = keys.map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key))));
        for (key, call) in keys.into_iter().zip(calls) {
            match call.await {
                Ok(reply) => assert_eq!((reply.unwrap(), key != 13), (Reply::Done("a"), true)),
                Err(error) => assert!(error.is_panic() && key == 13),
            }
        }
        for clone in [stack.clone(), stack] {
            assert_eq!(clone.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
        }
    }
}

/// The marked call came first, so it is the one that asked the registry, and its panic comes in the very poll that brings the handle.
#[tokio::test(start_paused = true)]
async fn b103_a_panic_of_the_call_that_began_the_resolve_leaves_the_others_their_handle() {
    for in_call in [true, false] {
        let gate = Gate::new();
        let resolver = ScriptedResolver::new([resolved("a", &superstitious(in_call)).behind(&gate)]);
        let stack = whole(cache(&resolver), attempts(3));
        let keys = [13, 1, 2, 3, 4, 5];
        let calls = keys.map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key))));
        resolver.wait_until_in_flight(1).await;
        gate.open();
        for (key, call) in keys.into_iter().zip(calls) {
            match call.await {
                Ok(reply) => assert_eq!((reply.unwrap(), key != 13), (Reply::Done("a"), true)),
                Err(error) => assert!(error.is_panic() && key == 13),
            }
        }
        assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
        assert_eq!((resolver.resolves(), resolver.in_flight()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn b103_a_panic_in_the_resolver_leaves_no_flight_behind() {
    let resolver = ScriptedResolver::new([Step::panic_in_poll(), resolved("a", &backend([done("a")]))]);
    let stack = whole(cache(&resolver), attempts(1));
    let calls = [1, 2, 3].map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key))));
    for call in calls {
        // Whoever came while the resolver panicked has a typed failure; who came after it has an answer.
        match call.await.unwrap() {
            Ok(reply) => assert_eq!(reply, Reply::Done("a")),
            Err(failure) => assert!(matches!(failure.find(), Some(ResolveError::Panicked))),
        }
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 0));
}
