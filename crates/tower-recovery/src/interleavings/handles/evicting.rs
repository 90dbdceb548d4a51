//! Evictions beside callers and look-ups.

use super::*;

#[test]
fn of_evictions_of_one_generation_exactly_one_reports_that_it_was_live() {
    explore(Interruptions::Any, || {
        let registry = Registry::new(|_| ("a", Course::AtOnce));
        let cache = registry.cache();
        assert_eq!(acquired(&cache).unwrap(), FIRST);
        let evicted = together({
            let cache = cache.clone();
            move || {
                let evicted = cache.evict(FIRST);
                assert!(!cache.shared().is_live(FIRST), "once an eviction has returned");
                evicted
            }
        });
        assert_eq!(evicted.iter().filter(|evicted| **evicted).count(), 1);
        assert_published(&cache, None);
        registry.close(cache);
    });
}

/// One eviction, one resolve, and the late failures of the old generation leave the new handle alone.
#[test]
fn callers_that_all_evict_the_old_generation_all_get_the_one_after_it() {
    for course in [Course::AtOnce, Course::WakesItself] {
        explore(Interruptions::UpTo(5), move || {
            let registry = Registry::new(move |resolve| ("a", if resolve == 0 { Course::AtOnce } else { course }));
            let cache = registry.cache();
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            let outcomes = together({
                let cache = cache.clone();
                move || {
                    let evicted = cache.evict(FIRST);
                    assert!(!cache.shared().is_live(FIRST), "once an eviction has returned");
                    (evicted, acquired(&cache).unwrap())
                }
            });
            assert_eq!(outcomes.iter().filter(|(evicted, _)| *evicted).count(), 1);
            assert!(outcomes.iter().all(|(_, generation)| *generation == second()), "{outcomes:?}");
            assert_eq!(registry.resolves(), 2);
            assert_published(&cache, Some(second()));
            registry.close(cache);
        });
    }
}

#[test]
fn an_eviction_beside_a_caller_takes_effect_before_it_returns_and_resolves_nothing_by_itself() {
    explore(Interruptions::Any, || {
        let registry = Registry::new(|_| ("a", Course::AtOnce));
        let cache = registry.cache();
        assert_eq!(acquired(&cache).unwrap(), FIRST);
        let others: Vec<_> = (1..CALLERS)
            .map(|_| {
                let cache = cache.clone();
                spawn(move || acquired(&cache).unwrap())
            })
            .collect();
        assert!(cache.evict(FIRST));
        assert!(!cache.shared().is_live(FIRST));
        assert!(cache.shared().held().is_none_or(|held| held.lease.generation() == second()));
        let newest = others.into_iter().map(|other| other.join().unwrap()).max().unwrap();
        assert_eq!(registry.resolves() as u64, newest.get());
        assert_published(&cache, Some(newest).filter(|newest| *newest != FIRST));
        registry.close(cache);
    });
}

/// The look-up finds another instance: it either replaces the handle or resolves for those who come after the eviction.
#[test]
fn an_eviction_beside_a_look_up_that_finds_another_instance_costs_no_further_resolve() {
    for course in [Course::AtOnce, Course::WakesItself] {
        explore(Interruptions::Any, move || {
            let registry =
                Registry::new(move |resolve| if resolve == 0 { ("a", Course::AtOnce) } else { ("b", course) });
            let cache = registry.cache();
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            let others: Vec<_> = (1..CALLERS)
                .map(|_| {
                    let cache = cache.clone();
                    spawn(move || generation(block_on(cache.refresh())).unwrap())
                })
                .collect();
            cache.evict(FIRST);
            assert!(!cache.shared().is_live(FIRST));
            // Look-ups that do not overlap are look-ups of their own, and find what is live.
            others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), second()));
            assert!((2..=CALLERS).contains(&registry.resolves()));
            assert_published(&cache, Some(second()));
            registry.close(cache);
        });
    }
}

/// The look-up finds the instance that is live, and must not bring back the generation that was evicted meanwhile.
#[test]
fn a_look_up_that_finds_the_same_instance_never_revives_an_evicted_generation() {
    for course in [Course::AtOnce, Course::WakesItself] {
        explore(Interruptions::Any, move || {
            let registry = Registry::new(move |resolve| ("a", if resolve == 0 { Course::AtOnce } else { course }));
            let cache = registry.cache();
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            let others: Vec<_> = (1..CALLERS)
                .map(|_| {
                    let cache = cache.clone();
                    spawn(move || generation(block_on(cache.refresh())).unwrap())
                })
                .collect();
            assert!(cache.evict(FIRST), "no look-up replaces it");
            assert!(!cache.shared().is_live(FIRST));
            let newest = others.into_iter().map(|other| other.join().unwrap()).max().unwrap();
            assert_published(&cache, Some(newest).filter(|newest| *newest != FIRST));
            registry.close(cache);
        });
    }
}

/// Whether the look-up heard of the eviction or not, and whenever it ends: nobody who comes after the eviction gets the evicted instance again. From the third resolve on, the registry lists it no more.
#[test]
fn a_resolver_that_is_told_of_an_eviction_brings_the_evicted_instance_back_in_no_order() {
    for course in [Course::AtOnce, Course::WakesItself] {
        explore(Interruptions::UpTo(4), move || {
            let registry = Registry::new(move |resolve| match resolve {
                0 => ("a", Course::AtOnce),
                1 => ("a", course),
                _ => ("b", course),
            });
            let cache = registry.cache_with_spare("b");
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            let refresh = spawn({
                let cache = cache.clone();
                move || generation(block_on(cache.refresh())).unwrap()
            });
            assert!(cache.evict(FIRST), "no look-up replaces it");
            let found = block_on(cache.acquire()).unwrap();
            assert_eq!((found.lease.generation(), found.lease.identity().as_str()), (second(), "b"));
            drop(found);
            assert!(refresh.join().unwrap() <= second());
            assert!((2..=3).contains(&registry.resolves()));
            assert_published(&cache, Some(second()));
            registry.close(cache);
        });
    }
}

#[test]
fn a_refresh_an_eviction_and_a_caller_at_once_end_on_the_one_new_handle() {
    for course in [Course::AtOnce, Course::WakesItself] {
        explore(Interruptions::UpTo(4), move || {
            let registry =
                Registry::new(move |resolve| if resolve == 0 { ("a", Course::AtOnce) } else { ("b", course) });
            let cache = registry.cache();
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            let refresh = spawn({
                let cache = cache.clone();
                move || generation(block_on(cache.refresh())).unwrap()
            });
            let eviction = spawn({
                let cache = cache.clone();
                move || {
                    cache.evict(FIRST);
                    assert!(!cache.shared().is_live(FIRST));
                }
            });
            assert!(acquired(&cache).unwrap() <= second());
            eviction.join().unwrap();
            assert_eq!(refresh.join().unwrap(), second());
            assert!(
                (2..=3).contains(&registry.resolves()),
                "a caller may have resolved and been served before the refresh"
            );
            assert_published(&cache, Some(second()));
            registry.close(cache);
        });
    }
}

/// The look-up fails: the handle stays, unless it is evicted; who comes then may learn of the failure.
#[test]
fn a_failing_refresh_an_eviction_and_a_caller_at_once_leave_nobody_hanging() {
    explore(Interruptions::UpTo(4), || {
        let registry = Registry::new(|resolve| if resolve == 0 { ("a", Course::AtOnce) } else { ("b", Course::Fails) });
        let cache = registry.cache();
        assert_eq!(acquired(&cache).unwrap(), FIRST);
        let refresh = spawn({
            let cache = cache.clone();
            move || generation(block_on(cache.refresh()))
        });
        let eviction = spawn({
            let cache = cache.clone();
            move || cache.evict(FIRST)
        });
        let caller = acquired(&cache);
        assert!(matches!(caller, Ok(FIRST) | Err(ResolveError::Failed(_))), "{caller:?}");
        assert!(eviction.join().unwrap());
        assert!(matches!(refresh.join().unwrap(), Err(ResolveError::Failed(_))));
        assert_published(&cache, None);
        registry.close(cache);
    });
}
