//! A number that tests can wait for.

use std::fmt;

use tokio::sync::watch;

/// A count with events: who waits is woken by the change, never by a clock.
pub(crate) struct Counter(watch::Sender<usize>);

impl Counter {
    pub(crate) fn value(&self) -> usize {
        *self.0.borrow()
    }

    /// Adds one and gives the new value: the first increment gives 1.
    pub(crate) fn increment(&self) -> usize {
        let mut new = 0;
        self.0.send_modify(|value| {
            *value += 1;
            new = *value;
        });
        new
    }

    pub(crate) fn add(&self, number: usize) {
        self.0.send_modify(|value| *value += number);
    }

    pub(crate) fn decrement(&self) {
        self.0.send_modify(|value| *value -= 1);
    }

    /// Counts one until the guard is dropped.
    pub(crate) fn enter(&self) -> Entered<'_> {
        self.increment();
        Entered(self)
    }

    pub(crate) async fn at_least(&self, wanted: usize) {
        self.until(|value| value >= wanted).await;
    }

    /// Waits for a moment at which the value is `wanted`. A value that stands for a moment only may be missed.
    pub(crate) async fn exactly(&self, wanted: usize) {
        self.until(|value| value == wanted).await;
    }

    async fn until(&self, reached: impl Fn(usize) -> bool) {
        self.0
            .subscribe()
            .wait_for(|value| reached(*value))
            .await
            .expect("the sender is borrowed, so the channel is open");
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(formatter)
    }
}

/// One that is counted as long as this lives.
#[derive(Debug)]
pub(crate) struct Entered<'counter>(&'counter Counter);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.decrement();
    }
}
