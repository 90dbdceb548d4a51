//! The bounds of the settings, and their edges.

use std::time::Duration;

use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{HandleCache, HandleCacheBuilder, InvalidSetting};
use tower_recovery_test::ScriptedResolver;

use super::{
    Backend, answering_after, frozen, pass,
    support::{Call, Reply, attempts, backend, done, millis, recovering, resolved, resolver},
    tasks,
};

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

fn builder(resolver: &ScriptedResolver<Backend>) -> HandleCacheBuilder<Backend> {
    HandleCache::builder(resolver.clone(), "service")
}

type Setter = fn(HandleCacheBuilder<Backend>, Duration) -> Result<HandleCacheBuilder<Backend>, InvalidSetting>;

#[test]
fn times_out_of_their_bounds_are_refused_by_name_value_and_bound() {
    let setters: [(&str, Setter); 2] =
        [("suspect_after", HandleCacheBuilder::suspect_after), ("refresh_every", HandleCacheBuilder::refresh_every)];
    for (name, setter) in setters {
        let resolver = ScriptedResolver::new([]);
        for out in [Duration::ZERO, Duration::from_nanos(999_999), WEEK + Duration::from_nanos(1), Duration::MAX] {
            let message = setter(builder(&resolver), out).unwrap_err().to_string();
            for part in [name, &format!("{out:?}"), "from 1ms to 604800s"] {
                assert!(message.contains(part), "{message}");
            }
        }
        for within in [millis(1), WEEK] {
            assert!(setter(builder(&resolver), within).is_ok(), "{name} {within:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_suspected_in_time_from_a_millisecond_to_a_week() {
    for suspect_after in [
        millis(1),
        Duration::from_micros(1_500),
        millis(7),
        millis(8),
        millis(799),
        millis(800),
        millis(801),
        millis(1_050),
        Duration::from_nanos(6_400_000_001),
        Duration::from_millis(6_400),
        Duration::from_secs(7),
        Duration::from_secs(3_600),
        WEEK - Duration::from_nanos(1),
        WEEK,
    ] {
        let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
        let cache = builder(&resolver)
            .resolve_floor(Duration::ZERO, Duration::ZERO)
            .suspect_after(suspect_after)
            .unwrap()
            .build();
        let stack = recovering(cache, attempts(3));
        let begun = Instant::now();
        assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
        let waited = begun.elapsed();
        // So says the documentation; the timers of the runtime are as coarse as a millisecond.
        let tick = millis(100).max(suspect_after / 64) + millis(1);
        assert!((suspect_after..=suspect_after + tick).contains(&waited), "{suspect_after:?}: {waited:?}");
        pass(suspect_after * 3 + millis(200)).await;
        assert_eq!(tasks(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_shortest_wait_suspects_once_a_call_and_not_once_a_tick() {
    let old = answering_after("a", Duration::from_secs(60));
    let resolver = ScriptedResolver::new([resolved("a", &old)]);
    let cache = builder(&resolver).suspect_after(millis(1)).unwrap().build();
    assert_eq!(recovering(cache, attempts(3)).oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_last_setting_holds() {
    let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
    let cache = builder(&resolver).suspect_after(WEEK).unwrap().suspect_after(millis(10)).unwrap().build();
    let begun = Instant::now();
    recovering(cache, attempts(3)).oneshot(Call::read()).await.unwrap();
    // The floor of the default settings holds for look-ups too.
    assert!(begun.elapsed() <= millis(130), "{:?}", begun.elapsed());
}
