//! When a repeat goes: at once on a changed handle, else after a pause with jitter.

use tokio::time::{Duration, Instant};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{
    CallTiming, ClassifyLayer, Dispatch, Failure, HandleCache, LinearBackoff, ReadOnlyRetryLayer, ReresolveLayer,
};
use tower_recovery_test::{ScriptedResolver, ScriptedService, Step};

use super::support::{
    Call, Fault, Protocol, Reply, attempts, backend, cache, done, fails, millis, recovering, resolved, resolver, rules,
};

/// How long a write takes that must succeed.
async fn taken(stack: impl Service<Call, Response = Reply, Error = Failure>) -> Duration {
    let started = Instant::now();
    stack.oneshot(Call::write()).await.unwrap();
    started.elapsed()
}

/// The pauses of the default: from half of `n` steps to the whole.
fn is_pause(elapsed: Duration, steps: u64) -> bool {
    (millis(50 * steps)..=millis(100 * steps)).contains(&elapsed)
}

#[tokio::test(start_paused = true)]
async fn the_first_repeat_goes_at_once_where_the_handle_has_changed() {
    let resolver = resolver([("a", backend([fails(Fault::ConnectionRefused)])), ("b", backend([done("b")]))]);
    assert_eq!(taken(recovering(cache(&resolver), attempts(3))).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_same_instance_under_a_new_handle_is_tried_once_at_once() {
    let resolver = resolver([("a", backend([fails(Fault::ConnectionRefused)])), ("a", backend([done("a")]))]);
    assert_eq!(taken(recovering(cache(&resolver), attempts(3))).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_waits_for_the_look_up_and_not_a_moment_longer() {
    let old = backend([fails(Fault::ConnectionRefused)]);
    let new = resolved("b", &backend([done("b")])).delayed(millis(700));
    let resolver = ScriptedResolver::new([resolved("a", &old), new]);
    assert_eq!(taken(recovering(cache(&resolver), attempts(3))).await, millis(700));
}

#[tokio::test(start_paused = true)]
async fn the_second_repeat_waits_although_the_handle_has_changed_again() {
    let resolver = resolver([
        ("a", backend([fails(Fault::ConnectionRefused)])),
        ("b", backend([fails(Fault::ConnectionRefused)])),
        ("c", backend([done("c")])),
    ]);
    let elapsed = taken(recovering(cache(&resolver), attempts(3))).await;
    assert!(is_pause(elapsed, 2), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repeat_on_an_unchanged_handle_waits() {
    let resolver = resolver([("a", backend([fails(Fault::NotWritten), done("a")]))]);
    let elapsed = taken(recovering(cache(&resolver), attempts(3))).await;
    assert!(is_pause(elapsed, 1), "{elapsed:?}");
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_after_a_failed_look_up_waits() {
    let resolver = ScriptedResolver::new([
        resolved("a", &backend([fails(Fault::ConnectionRefused)])),
        Step::fail(Fault::Lost),
        resolved("b", &backend([done("b")])),
    ]);
    let elapsed = taken(recovering(cache(&resolver), attempts(2))).await;
    assert!(is_pause(elapsed, 1), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repeat_after_a_failed_resolve_waits() {
    let resolver = ScriptedResolver::new([Step::fail(Fault::Lost), resolved("a", &backend([done("a")]))]);
    let elapsed = taken(recovering(cache(&resolver), attempts(2))).await;
    assert!(is_pause(elapsed, 1), "{elapsed:?}");
}

/// The moments at which a backend is called that never takes a request, over a handle that never changes.
async fn moments(backoff: LinearBackoff, timing: CallTiming) -> Vec<Instant> {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let handle = service_fn(move |_: Call| {
        sender.send(Instant::now()).unwrap();
        async { Err::<Reply, _>(Fault::NotWritten) }
    });
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(timing).backoff(backoff))
        .layer(ReresolveLayer::new(cache(&resolver([("a", handle)]))))
        .layer(ClassifyLayer::new(Protocol))
        .service(Dispatch);
    stack.oneshot(Call::write()).await.unwrap_err();
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_by_a_step_up_to_the_ceiling_and_jitter_takes_away_up_to_half() {
    let backoff = LinearBackoff::new(millis(200), millis(500));
    let (mut shortest, mut longest) = ([Duration::MAX; 4], [Duration::ZERO; 4]);
    for _ in 0..200 {
        let moments = moments(backoff, attempts(5)).await;
        assert_eq!(moments.len(), 5);
        for (repeat, pair) in moments.windows(2).enumerate() {
            let pause = pair[1] - pair[0];
            shortest[repeat] = shortest[repeat].min(pause);
            longest[repeat] = longest[repeat].max(pause);
        }
    }
    for (repeat, whole) in [200, 400, 500, 500].map(millis).into_iter().enumerate() {
        assert!(shortest[repeat] >= whole / 2 && longest[repeat] <= whole, "{shortest:?} {longest:?}");
        // 200 draws leave a tenth of the range untouched at either end once in a billion runs.
        assert!(shortest[repeat] < whole.mul_f64(0.55) && longest[repeat] > whole.mul_f64(0.95), "{longest:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_step_nothing_waits() {
    let moments = moments(LinearBackoff::new(Duration::ZERO, Duration::ZERO), attempts(4)).await;
    assert!(moments.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test(start_paused = true)]
async fn the_callers_of_one_eviction_do_not_come_back_at_the_same_moment() {
    let resolver = resolver([("a", backend([fails(Fault::NotWritten)]))]);
    let cache: HandleCache<ScriptedService<Call, Reply>> = cache(&resolver);
    let started = Instant::now();
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let stack = recovering(cache.clone(), attempts(2));
            tokio::spawn(async move {
                stack.oneshot(Call::write()).await.unwrap_err();
                started.elapsed()
            })
        })
        .collect();
    let mut moments = std::collections::BTreeSet::new();
    for call in calls {
        moments.insert(call.await.unwrap());
    }
    assert!(moments.len() > 10, "fifty timers of one length would be one moment: {moments:?}");
}
