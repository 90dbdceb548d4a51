//! The service that panics when it is called unready.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use tower_service::Service;

use crate::counter::Counter;

/// A service around another that checks its caller: see the [module docs](super).
///
/// # Readiness
///
/// That of the inner service. A clone starts unready.
///
/// # Panics
///
/// A call panics if this instance was not readied since its last call.
#[derive(Debug)]
pub struct ReadinessProbe<Inner> {
    inner: Inner,
    reservation: Reservation,
}

impl<Inner> ReadinessProbe<Inner> {
    /// Puts a probe around a service.
    pub fn new(inner: Inner) -> Self {
        Self { inner, reservation: Reservation { held: false, counts: ReadinessCounts::default() } }
    }

    /// The counts that this probe shares with its clones.
    #[must_use]
    pub fn counts(&self) -> ReadinessCounts {
        self.reservation.counts.clone()
    }
}

/// The clone is unready, whatever the original is: a reservation is for one instance.
impl<Inner: Clone> Clone for ReadinessProbe<Inner> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), reservation: Reservation { held: false, counts: self.counts() } }
    }
}

impl<Inner, Request> Service<Request> for ReadinessProbe<Inner>
where
    Inner: Service<Request>,
{
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = Inner::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Inner::Error>> {
        let readied = ready!(self.inner.poll_ready(context));
        match readied {
            Ok(()) => self.reservation.make(),
            Err(_) => self.reservation.lose(),
        }
        Poll::Ready(readied)
    }

    #[track_caller]
    fn call(&mut self, request: Request) -> Inner::Future {
        self.reservation.spend();
        self.inner.call(request)
    }
}

/// What the probe and all of its clones went through.
#[derive(Clone, Debug, Default)]
pub struct ReadinessCounts(Arc<Counts>);

impl ReadinessCounts {
    /// How often an instance became ready. Polling a ready instance again does not count.
    #[must_use]
    pub fn readied(&self) -> usize {
        self.0.readied.value()
    }

    /// How often a ready instance was called.
    #[must_use]
    pub fn called(&self) -> usize {
        self.0.called.value()
    }

    /// How often an instance was called unready: the caller panicked each time, but it may have swallowed that.
    #[must_use]
    pub fn called_unready(&self) -> usize {
        self.0.called_unready.value()
    }

    /// How many instances were dropped while ready: reserved, and never used.
    #[must_use]
    pub fn dropped_ready(&self) -> usize {
        self.0.dropped_ready.value()
    }

    /// How many instances are ready now.
    #[must_use]
    pub fn ready_now(&self) -> usize {
        self.0.ready_now.value()
    }
}

#[derive(Debug, Default)]
struct Counts {
    readied: Counter,
    called: Counter,
    called_unready: Counter,
    dropped_ready: Counter,
    ready_now: Counter,
}

/// Whether one instance is ready. Apart from the probe, so that only this part needs a `Drop`.
#[derive(Debug)]
struct Reservation {
    held: bool,
    counts: ReadinessCounts,
}

impl Reservation {
    fn make(&mut self) {
        if !self.held {
            self.held = true;
            self.counts.0.readied.increment();
            self.counts.0.ready_now.increment();
        }
    }

    #[track_caller]
    fn spend(&mut self) {
        if !self.held {
            self.counts.0.called_unready.increment();
            panic!("called an instance that was not readied since its last call");
        }
        self.counts.0.called.increment();
        self.lose();
    }

    fn lose(&mut self) {
        if self.held {
            self.held = false;
            self.counts.0.ready_now.decrement();
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.held {
            self.counts.0.dropped_ready.increment();
            self.lose();
        }
    }
}
