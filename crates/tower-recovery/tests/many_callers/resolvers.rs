//! A resolver that panics, hangs, names the dead instance again, or fails, for a minute; and the first good answer after it.

use std::{iter, time::Duration};

use tokio::{task::JoinSet, time::Instant};
use tower::{Service, ServiceExt};
use tower_recovery::{Delivery, Failure, ResolveError, Resolved};
use tower_recovery_test::{ScriptedResolver, Step};

use super::{FLOOR, FLOOR_CEILING, Fault, Instance, RESOLVE_TIMEOUT, Stack, WRITE, budget, cache_of, resolved, stack};

const MINUTE: Duration = Duration::from_secs(60);
const CALLERS: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the registry has no leader")]
struct NoLeader;

/// The most look-ups in this time of which each takes so long and none helps, by the floor alone.
fn most_look_ups(within: Duration, each: Duration) -> usize {
    let floors = iter::successors(Some(FLOOR), |floor| Some((*floor + FLOOR).min(FLOOR_CEILING)));
    let starts = floors.scan(Duration::ZERO, |start, floor| {
        *start += each + floor;
        Some(*start)
    });
    // Besides the first one.
    1 + starts.take_while(|start| *start <= within).count()
}

/// Calls again and again until the minute is over, and gives what each call failed with.
async fn insists(mut stack: Stack) -> Vec<Failure> {
    let until = Instant::now() + MINUTE;
    let mut failures = Vec::new();
    while Instant::now() < until {
        let stack = stack.ready().await.expect("a resolver makes nobody unready");
        failures.push(stack.call(WRITE).await.expect_err("nobody is there"));
    }
    failures
}

/// What came of a minute of a resolver that does not help.
struct BadMinute {
    failures: Vec<Failure>,
    look_ups: usize,
    /// A minute, and what the last calls took.
    took: Duration,
}

/// A minute of a resolver that does this, then an answer that helps.
async fn a_minute_of(bad: Step<Resolved<Instance>>) -> BadMinute {
    let resolver = ScriptedResolver::new([]).then_always(bad);
    let stack = stack(cache_of(&resolver).build(), &budget(1, 1_000_000));
    let began = Instant::now();
    let callers: JoinSet<_> = iter::repeat_n(&stack, CALLERS).map(|stack| insists(stack.clone())).collect();
    let failures = callers.join_all().await.into_iter().flatten().collect();
    let (look_ups, took) = (resolver.resolves(), began.elapsed());

    let good = Instance::new(|_| Ok("there"));
    resolver.push(resolved("new", &good));
    let calls: JoinSet<_> = iter::repeat_n(&stack, CALLERS).map(|stack| stack.clone().oneshot(WRITE)).collect();
    assert!(calls.join_all().await.into_iter().all(|answer| matches!(answer, Ok("there"))));
    assert_eq!((resolver.resolves() - look_ups, good.calls()), (1, CALLERS), "the first good answer serves everybody");
    BadMinute { failures, look_ups, took }
}

/// Each call failed by its resolve, was never sent, and spent its attempts.
fn assert_unresolved(failures: &[Failure], typed: impl Fn(&ResolveError) -> bool) {
    assert!(failures.len() >= CALLERS);
    for failure in failures {
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3), "{failure:?}");
        assert!(failure.is_exhausted() && !failure.is_permanent());
        assert!(failure.find().is_some_and(&typed), "{failure:?}");
    }
}

impl BadMinute {
    /// The bound is not kept by doing nothing: the floor, with the quarter that chance may add and the pauses of the calls, is all there is
    /// to wait for.
    fn assert_bounded(&self, each: Duration) {
        let (look_ups, most) = (self.look_ups, most_look_ups(self.took, each));
        assert!((most / 2..=most).contains(&look_ups), "{look_ups} look-ups in {:?}, at most {most}", self.took);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_fails_for_a_minute_is_asked_within_its_floor_and_its_error_is_typed() {
    let minute = a_minute_of(Step::fail_with(|| NoLeader)).await;
    minute.assert_bounded(Duration::ZERO);
    assert_unresolved(
        &minute.failures,
        |error| matches!(error, ResolveError::Failed(error) if error.downcast_ref() == Some(&NoLeader)),
    );
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_panics_for_a_minute_is_asked_within_its_floor_and_takes_nobody_down() {
    for bad in [Step::panic_in_poll(), Step::panic_in_call()] {
        let minute = a_minute_of(bad).await;
        minute.assert_bounded(Duration::ZERO);
        assert_unresolved(&minute.failures, |error| matches!(error, ResolveError::Panicked));
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_hangs_for_a_minute_is_given_up_each_time_and_asked_within_its_floor() {
    let minute = a_minute_of(Step::hang()).await;
    minute.assert_bounded(RESOLVE_TIMEOUT);
    assert_unresolved(
        &minute.failures,
        |error| matches!(error, ResolveError::TimedOut(limit) if *limit == RESOLVE_TIMEOUT),
    );
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_names_the_dead_instance_for_a_minute_is_asked_within_its_floor() {
    let dead = Instance::new(|_| Err(Fault::Absent));
    let minute = a_minute_of(resolved("dead", &dead)).await;
    minute.assert_bounded(Duration::ZERO);
    for failure in minute.failures {
        assert_eq!(failure.find(), Some(&Fault::Absent));
        assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3));
    }
}
