//! A stream that a test feeds while it runs: the answer of tests without a network.

mod handle;
mod queue;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

pub use self::handle::StreamHandle;
use self::queue::{Maker, Shared, Step};
use crate::BoxError;

/// A stream that yields what its [handle](StreamHandle) sends.
///
/// It is silent until something is sent, and stays so when the last handle is dropped.
///
/// # Examples
///
/// ```
/// use tower::{Service, ServiceExt};
/// use tower_recovery_test::{ScriptedService, ScriptedStream, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (events, stream) = ScriptedStream::pair();
/// let service = ScriptedService::<&str, _>::new([Step::answer_once(("200 OK", stream))]);
///
/// let (status, stream) = service.oneshot("GET /events").await.unwrap();
/// events.send("data: a");
/// events.fail("connection reset");
///
/// // … what is tested reads the stream, and drops it …
/// # assert_eq!(status, "200 OK");
/// drop(stream);
/// events.dropped().await;
/// # }
/// ```
///
/// # Panics
///
/// If it is polled after its end, which is `None` or an error, unless it was told to [fail for ever](StreamHandle::fail_for_ever).
#[must_use = "streams do nothing unless polled"]
pub struct ScriptedStream<Item> {
    now: Now<Item>,
    shared: Arc<Shared<Item>>,
}

/// What the next poll gives.
enum Now<Item> {
    /// What is next in the queue.
    Queued,
    /// Some equal items: they need neither the queue nor an allocation.
    Repeating(Item, usize, fn(&Item) -> Item),
    Failing(Maker),
    Over,
}

impl<Item> ScriptedStream<Item> {
    /// Makes a stream and its handle.
    pub fn pair() -> (StreamHandle<Item>, Self) {
        let stream = Self { now: Now::Queued, shared: Arc::default() };
        (stream.handle(), stream)
    }

    /// Makes a stream of so many equal items, which are all ready at once, and its end.
    pub fn repeat(item: Item, times: usize) -> Self
    where
        Item: Clone,
    {
        let (handle, stream) = Self::pair();
        handle.send_times(item, times);
        handle.end();
        stream
    }

    /// A handle of the stream.
    pub fn handle(&self) -> StreamHandle<Item> {
        StreamHandle::new(&self.shared)
    }
}

impl<Item> Stream for ScriptedStream<Item> {
    type Item = Result<Item, BoxError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.shared.count_poll();
        loop {
            match &mut this.now {
                Now::Queued => {}
                Now::Repeating(item, left @ 1.., clone) => {
                    *left -= 1;
                    return Poll::Ready(Some(Ok(clone(item))));
                }
                Now::Repeating(..) => this.now = Now::Queued,
                Now::Failing(error) => return Poll::Ready(Some(Err(error()))),
                Now::Over => panic!("a scripted stream was polled after its end"),
            }
            let Some(step) = this.shared.next(context) else {
                return Poll::Pending;
            };
            match step {
                Step::Item(item) => return Poll::Ready(Some(Ok(item))),
                Step::Items(item, times, clone) => this.now = Now::Repeating(item, times, clone),
                Step::FailForEver(error) => this.now = Now::Failing(error),
                Step::Fail(error) => {
                    this.now = Now::Over;
                    return Poll::Ready(Some(Err(error)));
                }
                Step::End => {
                    this.now = Now::Over;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

/// Nothing in it is pinned.
impl<Item> Unpin for ScriptedStream<Item> {}

impl<Item> Drop for ScriptedStream<Item> {
    fn drop(&mut self) {
        self.shared.dropped.open();
    }
}

impl<Item> fmt::Debug for ScriptedStream<Item> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptedStream").field("polls", &self.shared.polls()).finish_non_exhaustive()
    }
}
