//! The scripted resolver, without a network and on a paused clock.

mod support;

use std::{fmt, io, time::Duration};

use support::within;
use tokio::{task::yield_now, time::Instant};
use tower::{Service, ServiceExt};
use tower_recovery::Resolved;
use tower_recovery_test::{Gate, ScriptedResolver, Step};

fn instance(number: usize) -> Step<Resolved<usize>> {
    Step::resolved(format!("instance-{number}"), number)
}

async fn resolve(resolver: &ScriptedResolver<usize>) -> Result<usize, String> {
    let resolved = resolver.clone().oneshot("orders").await;
    resolved
        .inspect(|resolved| {
            let identity = format!("instance-{}", resolved.handle);
            assert_eq!(resolved.identity.as_str(), identity);
        })
        .map(|resolved| resolved.handle)
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn steps_are_taken_in_their_order_by_all_clones_and_the_last_repeats() {
    let resolver = ScriptedResolver::new([instance(1), Step::fail("gone"), instance(2)]);
    assert_eq!(resolve(&resolver).await, Ok(1));
    assert_eq!(resolve(&resolver).await, Err("gone".to_owned()));
    assert_eq!(resolve(&resolver).await, Ok(2));
    assert_eq!(resolve(&resolver).await, Ok(2));
    assert_eq!((resolver.resolves(), resolver.in_flight()), (4, 0));
    assert_eq!(resolver.dropped(), 0);
}

#[tokio::test]
async fn a_default_comes_after_the_list_and_steps_may_be_added_later() {
    let resolver = ScriptedResolver::new([instance(1)]).then_always(Step::fail("over"));
    assert_eq!(resolve(&resolver).await, Ok(1));
    assert_eq!(resolve(&resolver).await, Err("over".to_owned()));
    assert_eq!(resolve(&resolver).await, Err("over".to_owned()));
    resolver.push(instance(2));
    assert_eq!(resolve(&resolver).await, Ok(2));
    assert_eq!(resolve(&resolver).await, Err("over".to_owned()));
}

#[tokio::test]
async fn an_error_of_any_type_keeps_its_type_each_time() {
    #[derive(Debug)]
    struct NotClonable(usize);

    impl fmt::Display for NotClonable {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "failure {}", self.0)
        }
    }

    impl std::error::Error for NotClonable {}

    let mut number = 0;
    let failing = Step::<Resolved<usize>>::fail_with(move || {
        number += 1;
        NotClonable(number)
    });
    let resolver = ScriptedResolver::new([failing]);
    for number in 1..=3 {
        let error = resolver.clone().oneshot(()).await.unwrap_err();
        assert_eq!(error.downcast_ref::<NotClonable>().unwrap().0, number);
    }
    let timed_out = || io::Error::from(io::ErrorKind::TimedOut);
    let resolver = ScriptedResolver::<usize>::new([Step::fail_with(timed_out)]);
    assert!(resolver.oneshot(()).await.unwrap_err().is::<io::Error>());
}

#[tokio::test]
async fn a_failure_of_readiness_uses_its_step_up() {
    let resolver = ScriptedResolver::new([Step::fail_ready("not ready"), instance(1)]);
    assert_eq!(resolve(&resolver).await, Err("not ready".to_owned()));
    assert_eq!(resolver.resolves(), 0, "it was not called");
    assert_eq!(resolve(&resolver).await, Ok(1));
}

#[tokio::test]
async fn a_call_that_was_readied_before_a_failure_of_readiness_fails_with_it() {
    let resolver = ScriptedResolver::new([instance(1), Step::fail_ready("not ready")]);
    let (mut first, mut second) = (resolver.clone(), resolver.clone());
    ServiceExt::<()>::ready(&mut first).await.unwrap();
    ServiceExt::<()>::ready(&mut second).await.unwrap();
    assert_eq!(first.call(()).await.unwrap().handle, 1);
    let error = second.call(()).await.unwrap_err();
    assert_eq!(error.to_string(), "not ready");
}

#[tokio::test]
async fn a_gated_step_waits_for_its_gate_and_each_waiter_is_counted() {
    within(async {
        let gate = Gate::new();
        let resolver = ScriptedResolver::new([instance(1).behind(&gate)]);
        let waiting: Vec<_> = (0..3).map(|_| tokio::spawn(resolver.clone().oneshot("orders"))).collect();
        resolver.wait_until_resolves(3).await;
        assert_eq!((resolver.in_flight(), gate.is_open()), (3, false));
        assert!(waiting.iter().all(|call| !call.is_finished()));

        gate.open();
        for call in waiting {
            assert_eq!(call.await.unwrap().unwrap().handle, 1);
        }
        assert_eq!(resolver.in_flight(), 0);
        assert_eq!(resolve(&resolver).await, Ok(1), "an open gate stays open");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_step_answers_at_its_time_and_not_before() {
    within(async {
        let delay = Duration::from_secs(3);
        let resolver = ScriptedResolver::new([instance(1).delayed(delay)]);
        let called = Instant::now();
        let early = Duration::from_millis(2_999);
        let given_up = tokio::time::timeout(early, resolve(&resolver)).await;
        assert!(given_up.is_err());
        assert_eq!((resolver.dropped(), resolver.in_flight()), (1, 0));

        assert_eq!(called.elapsed(), early);
        assert_eq!(resolve(&resolver).await, Ok(1));
        assert_eq!(called.elapsed(), early + delay);
        assert_eq!(resolver.dropped(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_hanging_resolve_is_dropped_before_its_end_polled_or_not() {
    within(async {
        let mut resolver = ScriptedResolver::<usize>::new([Step::hang()]);
        let unpolled = resolver.call("orders");
        let polled = tokio::spawn(resolver.clone().oneshot("orders"));
        resolver.wait_until_in_flight(2).await;
        yield_now().await;
        drop(unpolled);
        assert_eq!((resolver.dropped(), resolver.in_flight()), (1, 1));
        polled.abort();
        resolver.wait_until_dropped(2).await;
        resolver.wait_until_in_flight(0).await;
        assert!(polled.await.unwrap_err().is_cancelled());
    })
    .await;
}

#[tokio::test]
async fn a_panic_in_call_is_a_resolve_that_never_was_in_flight() {
    let resolver = ScriptedResolver::new([Step::panic_in_call(), instance(1)]);
    let mut panicking = resolver.clone();
    let call = tokio::spawn(async move { drop(panicking.call("orders")) });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!((resolver.resolves(), resolver.in_flight()), (1, 0));
    assert_eq!(resolver.dropped(), 0);
    assert_eq!(resolve(&resolver).await, Ok(1), "the lock is not poisoned");
}

#[tokio::test]
async fn a_panic_in_poll_is_an_end_and_not_a_drop() {
    let gate = Gate::new();
    let steps = [Step::panic_in_poll(), Step::panic_in_call().behind(&gate), instance(1)];
    let mut resolver = ScriptedResolver::new(steps);
    let call = resolver.call("orders");
    assert!(tokio::spawn(call).await.unwrap_err().is_panic());
    gate.open();
    let call = resolver.call("orders");
    assert!(tokio::spawn(call).await.unwrap_err().is_panic());
    assert_eq!((resolver.resolves(), resolver.in_flight()), (2, 0));
    assert_eq!(resolver.dropped(), 0);
    assert_eq!(resolve(&resolver).await, Ok(1));
}

#[tokio::test]
#[should_panic(expected = "has a step or a default")]
async fn a_call_without_a_step_panics() {
    let _ = ScriptedResolver::<usize>::new([]).oneshot("orders").await;
}
