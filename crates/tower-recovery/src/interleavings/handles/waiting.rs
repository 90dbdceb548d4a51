//! Callers that wait for one resolve, and leave it.

use super::*;

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
