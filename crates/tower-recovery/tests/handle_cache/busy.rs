//! A waiter that finds the resolver busy, because another one polls it at this very moment.
//!
//! On one thread that moment is hard to meet, so here the resolver itself polls the other waiter while it is being polled.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::Poll,
};

use tokio_test::{
    assert_pending, assert_ready_ok,
    task::{self, Spawn},
};
use tower::service_fn;
use tower_recovery::{Acquire, HandleCache, Resolved};

use super::{
    Name, seen,
    support::{Fault, poll_woken},
};

/// The waiter that the resolver polls.
type Other = Arc<Mutex<Option<Spawn<Acquire<Name>>>>>;

/// A resolver whose first poll wakes its waiters if it is to, lets the other waiter find it busy, and comes to `first`.
fn busy(other: &Other, wakes: bool, first: Poll<()>) -> HandleCache<Name> {
    let other = Arc::clone(other);
    let resolver = service_fn(move |_: &str| {
        let other = Arc::clone(&other);
        async move {
            let mut polled = false;
            poll_fn(|context| {
                if std::mem::replace(&mut polled, true) {
                    return Poll::Ready(());
                }
                if wakes {
                    context.waker().wake_by_ref();
                }
                // Taken out, so that a resolver that the other one asks for itself fails the test and does not wait for this lock.
                let mut waiter = other.lock().unwrap().take().expect("one resolve for both");
                assert_pending!(waiter.poll());
                *other.lock().unwrap() = Some(waiter);
                first
            })
            .await;
            Ok::<_, Fault>(Resolved::new("a", "a"))
        }
    });
    HandleCache::new(resolver, "service")
}

#[tokio::test(start_paused = true)]
async fn is_woken_when_the_resolver_is_free_again() {
    let other = Other::default();
    let cache = busy(&other, true, Poll::Pending);
    *other.lock().unwrap() = Some(task::spawn(cache.acquire()));
    let mut first = task::spawn(cache.acquire());
    assert_pending!(first.poll());

    // The wake-up came within the poll, before the other one had its place; and the first one goes away with its own.
    drop(first);
    let mut other = other.lock().unwrap().take().unwrap();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut other))), ("a", 1));
}

#[tokio::test(start_paused = true)]
async fn is_woken_when_the_resolver_has_answered() {
    let other = Other::default();
    let cache = busy(&other, false, Poll::Ready(()));
    *other.lock().unwrap() = Some(task::spawn(cache.acquire()));
    let mut first = task::spawn(cache.acquire());
    assert_eq!(seen(&assert_ready_ok!(first.poll())), ("a", 1));

    let mut other = other.lock().unwrap().take().unwrap();
    assert_eq!(seen(&assert_ready_ok!(poll_woken(&mut other))), ("a", 1));
}
