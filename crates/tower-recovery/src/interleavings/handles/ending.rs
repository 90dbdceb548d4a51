//! Resolves that fail or panic, and what is dropped where.

use super::*;

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
