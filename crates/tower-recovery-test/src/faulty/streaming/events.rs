//! What a server tells about its streams.

use super::{super::FaultyServer, StreamedAnswer};

/// Answers that are streamed, by [`Act::Stream`](super::super::Act::Stream).
impl FaultyServer {
    /// All streamed answers so far, in the order in which they began.
    #[must_use]
    pub fn streamed_answers(&self) -> Vec<StreamedAnswer> {
        self.shared.streams.snapshot()
    }

    /// How many answers are being streamed: begun, and neither played to the end nor left by their client.
    #[must_use]
    pub fn streaming(&self) -> usize {
        self.shared.streams.sending.value()
    }

    /// How many streamed answers were left by their client before their end.
    #[must_use]
    pub fn streams_left(&self) -> usize {
        self.shared.streams.left.value()
    }

    /// Waits until the streamed answer with this number, counted from 1 in the order in which they began, has begun.
    ///
    /// # Panics
    ///
    /// If the number is 0.
    pub async fn streamed_answer(&self, number: usize) -> StreamedAnswer {
        assert_ne!(number, 0, "streamed answers are counted from 1");
        self.shared.streams.begun.at_least(number).await;
        self.shared.streams.snapshot().swap_remove(number - 1)
    }

    /// Waits for a moment at which exactly `number` answers are being streamed.
    pub async fn wait_until_streaming(&self, number: usize) {
        self.shared.streams.sending.exactly(number).await;
    }

    /// Waits until at least `number` streamed answers were left by their client before their end.
    pub async fn wait_until_streams_left(&self, number: usize) {
        self.shared.streams.left.at_least(number).await;
    }
}
