//! One resolve that many callers wait for, and that any of them drives.
//!
//! There is no leader: the waker that the resolver gets wakes **every** waiter, and whichever is polled first polls the resolver on.
//! So it does not matter which of them is dropped, or is held and never polled again. The resolver is polled, and waiters are woken,
//! outside the lock.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use futures_util::future::BoxFuture;
use slab::Slab;

use super::{ResolveError, state::FlightId};
use crate::{
    Resolved, attempt_scope,
    sync::{AtomicBool, Mutex, Ordering, lock},
};

/// What the resolver, bounded in time, comes to.
pub(super) type Answer<Handle> = Result<Resolved<Handle>, ResolveError>;

pub(super) struct Flight<Handle> {
    pub(super) id: FlightId,
    /// Whether the resolver was asked: not before the floor, and only if somebody polled then.
    asked: Arc<AtomicBool>,
    inner: Mutex<Inner<Handle>>,
}

struct Inner<Handle> {
    stage: Stage<Handle>,
    /// A waker for each waiter that was polled since the last wake-up.
    waiters: Slab<Option<Waker>>,
    /// The resolver woke us while it was being polled.
    woken_in_poll: bool,
}

enum Stage<Handle> {
    /// Nobody polls the resolver at this moment.
    Parked(BoxFuture<'static, Answer<Handle>>),
    /// One waiter polls it, outside the lock.
    Polled,
    /// It has ended and the cache knows the answer, or it was given up.
    Landed(Result<(), ResolveError>),
}

/// A waiter's place in a flight.
#[derive(Clone, Copy)]
pub(super) struct Seat(usize);

impl<Handle: Send + 'static> Flight<Handle> {
    pub(super) fn new(id: FlightId, asked: Arc<AtomicBool>, resolve: BoxFuture<'static, Answer<Handle>>) -> Self {
        Self {
            id,
            asked,
            inner: Mutex::new(Inner { stage: Stage::Parked(resolve), waiters: Slab::new(), woken_in_poll: false }),
        }
    }

    /// For the last one to leave: standing up has ordered all polls of the resolver before it.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    pub(super) fn sit_down(&self) -> Seat {
        Seat(lock(&self.inner).waiters.insert(None))
    }

    pub(super) fn stand_up(&self, seat: Seat) {
        let waker = lock(&self.inner).waiters.remove(seat.0);
        drop(waker);
    }

    /// Ends a flight that nobody waits for any more.
    pub(super) fn ground(&self) {
        let stage = std::mem::replace(&mut lock(&self.inner).stage, Stage::Landed(Err(ResolveError::Panicked)));
        drop_caught(stage);
    }

    /// Ends a flight under those who wait for it: they look for the next one.
    pub(super) fn give_up(&self) {
        let mut inner = lock(&self.inner);
        let stage = std::mem::replace(&mut inner.stage, Stage::Landed(Ok(())));
        let wakers = inner.take_wakers();
        drop(inner);
        drop_caught(stage);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for the end of the flight, and drives it where nobody else does.
    ///
    /// `settle` tells the cache of the answer before any waiter hears of it.
    pub(super) fn poll(
        self: &Arc<Self>,
        seat: Seat,
        context: &Context<'_>,
        settle: impl FnOnce(Answer<Handle>) -> Result<(), ResolveError>,
    ) -> Poll<Result<(), ResolveError>> {
        // Declared before the lock and so dropped after it: the waker that it is swapped for may be the last reference to a task, which
        // may hold a place here.
        let mut registered = Some(context.waker().clone());
        let mut inner = lock(&self.inner);
        // The place is taken before the resolver is polled, so that a wake-up during that poll reaches this waiter too.
        std::mem::swap(&mut inner.waiters[seat.0], &mut registered);
        let mut resolve = match std::mem::replace(&mut inner.stage, Stage::Polled) {
            Stage::Parked(resolve) => resolve,
            Stage::Polled => return Poll::Pending,
            Stage::Landed(outcome) => {
                inner.stage = Stage::Landed(outcome.clone());
                return Poll::Ready(outcome);
            }
        };
        drop(inner);

        let landing = Landing { flight: self, outcome: Err(ResolveError::Panicked) };
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        // The others wait for it too: what this caller's attempt was told does not hold for the resolver, which may be a stack of layers itself.
        let polled =
            catch_unwind(AssertUnwindSafe(|| attempt_scope::saying_nothing(|| resolve.as_mut().poll(&mut context))));
        let answer = match polled {
            Ok(Poll::Pending) => {
                std::mem::forget(landing);
                return self.park(resolve);
            }
            Ok(Poll::Ready(answer)) => answer,
            Err(_panic) => Err(ResolveError::Panicked),
        };
        drop_caught(resolve);
        Poll::Ready(landing.land(settle(answer)))
    }

    /// Puts the resolver back for the next waiter to poll, if the flight was not given up meanwhile.
    fn park(&self, resolve: BoxFuture<'static, Answer<Handle>>) -> Poll<Result<(), ResolveError>> {
        let mut inner = lock(&self.inner);
        if let Stage::Landed(outcome) = &inner.stage {
            let outcome = outcome.clone();
            drop(inner);
            drop_caught(resolve);
            return Poll::Ready(outcome);
        }
        inner.stage = Stage::Parked(resolve);
        // Waiters that were woken during the poll found it busy and went back to sleep: they are woken again, now that
        // one of them can go on. This waiter was woken with them, but it may be dropped before it is polled.
        let missed = if std::mem::take(&mut inner.woken_in_poll) { inner.take_wakers() } else { Vec::new() };
        drop(inner);
        missed.into_iter().for_each(Waker::wake);
        Poll::Pending
    }
}

impl<Handle> Inner<Handle> {
    fn take_wakers(&mut self) -> Vec<Waker> {
        self.waiters.iter_mut().filter_map(|(_, waker)| waker.take()).collect()
    }
}

impl<Handle: Send + 'static> Wake for Flight<Handle> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut inner = lock(&self.inner);
        inner.woken_in_poll = matches!(inner.stage, Stage::Polled);
        let wakers = inner.take_wakers();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A resolver that panics while it is dropped must not take the caller down either.
fn drop_caught<Dropped>(dropped: Dropped) {
    let _panic = catch_unwind(AssertUnwindSafe(|| drop(dropped)));
}

/// Ends the flight when it goes, so that no panic on the way (in a handle's `Drop`, in a log subscriber) leaves the waiters hanging.
struct Landing<'flight, Handle> {
    flight: &'flight Flight<Handle>,
    outcome: Result<(), ResolveError>,
}

impl<Handle> Landing<'_, Handle> {
    fn land(mut self, outcome: Result<(), ResolveError>) -> Result<(), ResolveError> {
        self.outcome = outcome.clone();
        outcome
    }
}

impl<Handle> Drop for Landing<'_, Handle> {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Ok(()));
        let mut inner = lock(&self.flight.inner);
        inner.stage = Stage::Landed(outcome);
        let wakers = inner.take_wakers();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }
}
