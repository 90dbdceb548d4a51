//! Waiting for a handle.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use super::{
    Held, ResolveError,
    shared::{Entry, Shared, Waiting},
};

/// Waits for the live handle of a [`HandleCache`](super::HandleCache), and drives the resolve where nobody else does.
///
/// # Cancel safety
///
/// Dropping it leaves the resolve to those who wait beside it; the last one to leave ends it. Nothing is lost.
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<Handle: Clone + Send + 'static> {
    shared: Arc<Shared<Handle>>,
    waiting: Option<Waiting<Handle>>,
    /// Whether the registry is to be asked even if a handle is live: until it was.
    look_up: bool,
}

impl<Handle: Clone + Send + 'static> Acquire<Handle> {
    pub(super) fn new(shared: Arc<Shared<Handle>>) -> Self {
        Self { shared, waiting: None, look_up: false }
    }

    pub(super) fn looking_up(shared: Arc<Shared<Handle>>) -> Self {
        Self { shared, waiting: None, look_up: true }
    }

    /// Waits from the place that it has.
    pub(super) fn seated(shared: Arc<Shared<Handle>>, waiting: Waiting<Handle>) -> Self {
        Self { shared, waiting: Some(waiting), look_up: false }
    }

    fn leave(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.shared.leave(&waiting);
        }
    }
}

impl<Handle: Clone + Send + 'static> Future for Acquire<Handle> {
    type Output = Result<Held<Handle>, ResolveError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if std::mem::take(&mut this.look_up) {
            this.waiting = Some(this.shared.look_up());
        }
        loop {
            if let Some(Waiting { flight, seat }) = &this.waiting {
                let settle = |answer| this.shared.settle(flight.id, answer);
                let landed = ready!(flight.poll(*seat, context, settle));
                this.leave();
                landed?;
            }
            // A handle that landed may have been evicted since: then this call waits on, for the next one.
            match this.shared.enter() {
                Entry::Live(held) => return Poll::Ready(Ok(held)),
                Entry::Waiting(waiting) => this.waiting = Some(waiting),
            }
        }
    }
}

// Nothing in it is pinned: the resolver is boxed, in the flight.
impl<Handle: Clone + Send + 'static> Unpin for Acquire<Handle> {}

impl<Handle: Clone + Send + 'static> Drop for Acquire<Handle> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<Handle: Clone + Send + 'static> fmt::Debug for Acquire<Handle> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Acquire").field("waits", &self.waiting.is_some()).finish_non_exhaustive()
    }
}
