//! [`HandleCache`].

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use super::{
    Interruptions,
    checker::{CALLERS, block_on, explore, spawn},
    registry::{Course, Handle, Registry},
    together,
};
use crate::{Acquire, Generation, HandleCache, Held, ResolveError};

type Acquired = Result<Held<Handle>, ResolveError>;

const FIRST: Generation = Generation::FIRST;

fn second() -> Generation {
    FIRST.next()
}

/// Waits for the handle, and lets go of it.
fn acquired(cache: &HandleCache<Handle>) -> Result<Generation, ResolveError> {
    generation(block_on(cache.acquire()))
}

fn generation(acquired: Acquired) -> Result<Generation, ResolveError> {
    acquired.map(|held| held.lease.generation())
}

/// Polls as a task does that is dropped before it is polled again: it is woken in vain.
fn poll(acquire: &mut Acquire<Handle>) -> Poll<Acquired> {
    pin!(acquire).as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls until there is an answer, so often at the most, and leaves.
fn poll_and_leave(mut acquire: Acquire<Handle>, polls: usize) {
    let _ = (0..polls).map(|_| poll(&mut acquire)).find(Poll::is_ready);
}

/// When all is quiet, the number that calls compare says what the state under the lock says, and a handle is lent only by it.
fn assert_published(cache: &HandleCache<Handle>, live: Option<Generation>) {
    assert_eq!(cache.generation(), live);
    for generation in std::iter::successors(Some(FIRST), |generation| Some(generation.next())).take(4) {
        assert_eq!(cache.shared().is_live(generation), live == Some(generation), "{generation}");
    }
    assert_eq!(cache.shared().held().map(|held| held.lease.generation()), live);
}

#[test]
fn callers_that_find_no_handle_share_one_resolve_and_its_generation() {
    for course in [Course::AtOnce, Course::WakesItself] {
        explore(Interruptions::UpTo(5), move || {
            let registry = Registry::new(move |_| ("a", course));
            let cache = registry.cache();
            let generations = together({
                let cache = cache.clone();
                move || acquired(&cache).unwrap()
            });
            assert_eq!(generations, [FIRST; CALLERS]);
            assert_eq!(registry.resolves(), 1);
            assert_published(&cache, Some(FIRST));
            registry.close(cache);
        });
    }
}

/// The wake-up races with the poll of the resolver, and with the next caller's taking its place.
#[test]
fn a_resolver_woken_from_another_thread_serves_every_caller() {
    explore(Interruptions::UpTo(3), || {
        let registry = Registry::new(|_| ("a", Course::Gated));
        let cache = registry.cache();
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let cache = cache.clone();
                spawn(move || acquired(&cache).unwrap())
            })
            .collect();
        registry.open_the_gate();
        callers.into_iter().for_each(|caller| assert_eq!(caller.join().unwrap(), FIRST));
        assert_eq!(registry.resolves(), 1);
        assert_published(&cache, Some(FIRST));
        registry.close(cache);
    });
}

/// Whoever polls the resolver while it is woken may be gone when it is to be polled again.
#[test]
fn a_caller_that_leaves_leaves_the_resolve_to_those_who_wait() {
    for polls in 1..=2 {
        explore(Interruptions::UpTo(5), move || {
            let registry = Registry::new(|_| ("a", Course::WakesItself));
            let cache = registry.cache();
            let leavers: Vec<_> = (1..CALLERS)
                .map(|_| {
                    let acquire = cache.acquire();
                    spawn(move || poll_and_leave(acquire, polls))
                })
                .collect();
            // A caller that leaves before this one comes takes its resolve with it.
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            leavers.into_iter().for_each(|leaver| leaver.join().unwrap());
            assert!((1..=CALLERS).contains(&registry.resolves()));
            assert_published(&cache, Some(FIRST));
            registry.close(cache);
        });
    }
}

/// As above, with the wake-up from a third thread.
#[test]
fn a_caller_that_leaves_as_the_resolver_is_woken_leaves_the_resolve_to_those_who_wait() {
    for polls in 1..=2 {
        explore(Interruptions::UpTo(4), move || {
            let registry = Registry::new(|_| ("a", Course::Gated));
            let cache = registry.cache();
            let leavers: Vec<_> = (1..CALLERS)
                .map(|_| {
                    let acquire = cache.acquire();
                    spawn(move || poll_and_leave(acquire, polls))
                })
                .collect();
            let waiter = spawn({
                let cache = cache.clone();
                move || acquired(&cache).unwrap()
            });
            registry.open_the_gate();
            leavers.into_iter().for_each(|leaver| leaver.join().unwrap());
            assert_eq!(waiter.join().unwrap(), FIRST);
            assert_published(&cache, Some(FIRST));
            registry.close(cache);
        });
    }
}

/// Else a task stays in memory, and is woken in vain, for as long as the others wait.
#[test]
fn a_caller_that_leaves_leaves_no_waker_behind() {
    explore(Interruptions::Any, || {
        let registry = Registry::new(|_| ("a", Course::Gated));
        let cache = registry.cache();
        let [mut stays, mut leaves] = [cache.acquire(), cache.acquire()];
        assert!(poll(&mut stays).is_pending());
        let task = Arc::new(IdleTask);
        assert!(pin!(&mut leaves).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&task)))).is_pending());
        let leaver = spawn(move || drop(leaves));
        assert!(poll(&mut stays).is_pending());
        leaver.join().unwrap();
        assert_eq!(Arc::strong_count(&task), 1);
        drop(stays);
        registry.close(cache);
    });
}

struct IdleTask;

impl Wake for IdleTask {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn when_every_caller_leaves_the_resolve_ends_and_the_next_caller_starts_another() {
    for polls in 1..=2 {
        explore(Interruptions::Any, move || {
            let registry = Registry::new(|_| ("a", Course::Gated));
            let cache = registry.cache();
            together({
                let cache = cache.clone();
                move || poll_and_leave(cache.acquire(), polls)
            });
            assert_eq!(registry.in_progress(), 0, "the last one to leave ends the resolve");
            assert_published(&cache, None);

            let given_up = registry.resolves();
            registry.open_the_gate();
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            assert_eq!(registry.resolves(), given_up + 1);
            registry.close(cache);
        });
    }
}

/// They sit in one resolve, and leave it at the same time.
#[test]
fn of_callers_that_leave_one_resolve_together_the_last_one_ends_it() {
    explore(Interruptions::Any, || {
        let registry = Registry::new(|_| ("a", Course::Gated));
        let cache = registry.cache();
        let seated: Vec<_> = (0..CALLERS)
            .map(|_| {
                let mut acquire = cache.acquire();
                assert!(poll(&mut acquire).is_pending());
                acquire
            })
            .collect();
        assert_eq!((registry.resolves(), registry.in_progress()), (1, 1));
        let leavers: Vec<_> = seated.into_iter().map(|acquire| spawn(move || drop(acquire))).collect();
        registry.open_the_gate();
        leavers.into_iter().for_each(|leaver| leaver.join().unwrap());
        assert_eq!((registry.resolves(), registry.in_progress()), (1, 0));
        assert_published(&cache, None);
        registry.close(cache);
    });
}

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

/// Callers that wait for one and the same resolve, which ends as `course` says when another thread wakes it.
fn callers_of_one_resolve(course: Course) -> impl Fn() -> Vec<ResolveError> {
    move || {
        let registry = Registry::new(move |resolve| ("a", if resolve == 0 { course } else { Course::AtOnce }));
        let cache = registry.cache();
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let mut acquire = cache.acquire();
                assert!(poll(&mut acquire).is_pending());
                spawn(move || generation(block_on(acquire)).unwrap_err())
            })
            .collect();
        registry.open_the_gate();
        let errors = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
        assert_eq!((registry.resolves(), registry.in_progress()), (1, 0));
        assert_published(&cache, None);

        assert_eq!(acquired(&cache).unwrap(), FIRST, "the next one resolves anew");
        assert_eq!(registry.resolves(), 2);
        registry.close(cache);
        errors
    }
}

#[test]
fn every_caller_of_a_resolver_that_panics_learns_of_it_and_the_next_one_resolves_anew() {
    explore(Interruptions::UpTo(3), || {
        let errors = callers_of_one_resolve(Course::GatedPanics)();
        assert!(errors.iter().all(|error| matches!(error, ResolveError::Panicked)), "{errors:?}");
    });
}

#[test]
fn every_caller_of_a_resolver_that_fails_gets_the_one_error_and_the_next_one_resolves_anew() {
    explore(Interruptions::UpTo(3), || {
        let errors = callers_of_one_resolve(Course::GatedFails)();
        let causes: Vec<_> = errors
            .iter()
            .map(|error| match error {
                ResolveError::Failed(cause) => Arc::as_ptr(cause).cast::<()>(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(causes.iter().all(|cause| *cause == causes[0]), "shared by pointer");
    });
}

#[test]
fn a_resolver_that_panics_as_it_is_given_up_takes_no_caller_down() {
    explore(Interruptions::Any, || {
        let registry = Registry::new(|_| ("a", Course::GatedPanicsWhenDropped));
        let cache = registry.cache();
        together({
            let cache = cache.clone();
            move || poll_and_leave(cache.acquire(), 1)
        });
        assert_published(&cache, None);
        registry.close(cache);
    });
}

/// A handle's `Drop` takes the cache's lock: where the cache dropped one under it, the thread would wait for itself.
#[test]
fn no_handle_is_dropped_under_the_lock() {
    for found in ["a", "b"] {
        explore(Interruptions::Any, move || {
            let registry = Registry::new(move |resolve| (if resolve == 0 { "a" } else { found }, Course::AtOnce));
            let cache = registry.cache();
            registry.handles_call_back(&cache);
            assert_eq!(acquired(&cache).unwrap(), FIRST);
            let refreshes: Vec<_> = (1..CALLERS)
                .map(|_| {
                    let cache = cache.clone();
                    spawn(move || generation(block_on(cache.refresh())).unwrap())
                })
                .collect();
            cache.evict(FIRST);
            refreshes.into_iter().for_each(|refresh| assert!(refresh.join().unwrap() <= second()));
            registry.close(cache);
        });
    }
}

/// A task that waits for a handle of its own, as the waker of another caller: the last reference to it may be the one that the cache keeps.
struct Task(#[expect(dead_code, reason = "it is there to be dropped")] Acquire<Handle>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

/// A caller is polled by another task than before, and may be the last one to refer to the first task, which waits for the same resolve.
#[test]
fn no_waker_is_dropped_under_the_lock() {
    explore(Interruptions::Any, || {
        let registry = Registry::new(|_| ("a", Course::Gated));
        let cache = registry.cache();
        let [mut moved, mut inside] = [cache.acquire(), cache.acquire()];
        assert!(poll(&mut inside).is_pending());
        let first_task = Waker::from(Arc::new(Task(inside)));
        assert!(pin!(&mut moved).poll(&mut Context::from_waker(&first_task)).is_pending());
        let second_task = spawn(move || poll_and_leave(moved, 1));
        drop(first_task);
        registry.open_the_gate();
        second_task.join().unwrap();
        assert_eq!(registry.in_progress(), 0);
        registry.close(cache);
    });
}
