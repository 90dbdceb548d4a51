//! The test's end of a scripted stream.

use std::{fmt, sync::Arc};

use super::queue::{Shared, Step};
use crate::BoxError;

/// What feeds a [`ScriptedStream`](super::ScriptedStream), and sees what becomes of it. Clones are the same one.
///
/// What is sent after the stream was dropped is lost, as it is with a peer that sends on for a while.
///
/// # Panics
///
/// To send something, or to end or fail the stream, after it was ended or failed, is a mistake of the test's and panics.
pub struct StreamHandle<Item>(Arc<Shared<Item>>);

impl<Item> StreamHandle<Item> {
    pub(super) fn new(shared: &Arc<Shared<Item>>) -> Self {
        Self(Arc::clone(shared))
    }

    /// Sends an item.
    #[track_caller]
    pub fn send(&self, item: Item) {
        self.put(Step::Item(item));
    }

    /// Sends so many equal items, which takes no memory for each.
    #[track_caller]
    pub fn send_times(&self, item: Item, times: usize)
    where
        Item: Clone,
    {
        self.put(Step::Items(item, times, Item::clone));
    }

    /// Ends the stream.
    #[track_caller]
    pub fn end(&self) {
        self.put(Step::End);
    }

    /// Fails the stream, which is its end; text will do.
    #[track_caller]
    pub fn fail(&self, error: impl Into<BoxError>) {
        self.put(Step::Fail(error.into()));
    }

    /// Fails the stream, and lets it yield this error again and again, as there are streams that do; text will do.
    #[track_caller]
    pub fn fail_for_ever(&self, error: impl Into<BoxError> + Clone + Send + 'static) {
        self.put(Step::FailForEver(Box::new(move || error.clone().into())));
    }

    /// How often the stream was polled.
    #[must_use]
    pub fn polls(&self) -> usize {
        self.0.polls()
    }

    /// Whether the stream was dropped.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.0.dropped.is_open()
    }

    #[track_caller]
    fn put(&self, step: Step<Item>) {
        assert!(self.0.put(step), "nothing comes after the end of a scripted stream");
    }
}

/// Events. Dropping one of these futures has no effect.
impl<Item> StreamHandle<Item> {
    /// Waits until the stream was polled at least `number` times.
    pub async fn wait_until_polls(&self, number: usize) {
        self.0.polls_at_least(number).await;
    }

    /// Waits until the stream is dropped.
    pub async fn dropped(&self) {
        self.0.dropped.opened().await;
    }
}

impl<Item> Clone for StreamHandle<Item> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Item> fmt::Debug for StreamHandle<Item> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamHandle")
            .field("polls", &self.polls())
            .field("dropped", &self.is_dropped())
            .finish_non_exhaustive()
    }
}
