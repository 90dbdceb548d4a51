//! Events and nothing else, and the marks where they begin anew.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::Stream;
use http::response::Parts;
use pin_project_lite::pin_project;
use tower_recovery::{
    Failure,
    stream_replacement::{Admitted, MarkedItem},
};

use super::{
    SseEvent, SseItem,
    reader::{Reader, is_last},
};

pin_project! {
    /// As [`SseEvents`](super::SseEvents), of a stream that is [marked](tower_recovery::stream_replacement::Marked) where it begins anew.
    ///
    /// # Cancel safety
    ///
    /// As of [`SseEvents`](super::SseEvents).
    ///
    /// # Errors
    ///
    /// As of [`SseEvents`](super::SseEvents); what was read before one is to be discarded like what was read before a mark.
    #[must_use = "streams do nothing unless polled"]
    pub struct SseMarkedEvents<Items> {
        reader: Reader,
        // `None` after the end.
        #[pin]
        items: Option<Items>,
    }
}

impl<Items> SseMarkedEvents<Items>
where
    Items: Stream<Item = Result<MarkedItem<Parts, SseItem>, Failure>>,
{
    /// The events of this answer, and the marks between them.
    pub fn of(answer: Admitted<Parts, Items>) -> Self {
        Self { reader: Reader::of(answer.head), items: Some(answer.items) }
    }
}

impl<Items> SseMarkedEvents<Items> {
    /// The head of the answer, or of what has taken its place.
    pub fn head(&self) -> &Parts {
        self.reader.head()
    }
}

impl<Items> Stream for SseMarkedEvents<Items>
where
    Items: Stream<Item = Result<MarkedItem<Parts, SseItem>, Failure>>,
{
    type Item = Result<MarkedItem<Parts, SseEvent>, Failure>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let last = loop {
            let Some(items) = this.items.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            match ready!(items.poll_next(context)) {
                Some(Ok(MarkedItem::Item(item))) => match this.reader.take(item) {
                    Some(Ok(event)) => {
                        if is_last(&event) {
                            this.items.set(None);
                        }
                        return Poll::Ready(Some(Ok(MarkedItem::Item(event))));
                    }
                    Some(Err(failure)) => break Some(failure),
                    None => {}
                },
                Some(Ok(MarkedItem::Restarted(restarted))) => {
                    *this.reader = Reader::of(restarted.head.clone());
                    return Poll::Ready(Some(Ok(MarkedItem::Restarted(restarted))));
                }
                Some(Err(failure)) => break Some(this.reader.broken_by(failure)),
                None => break this.reader.end(),
            }
        };
        this.items.set(None);
        Poll::Ready(last.map(Err))
    }
}

impl<Items> fmt::Debug for SseMarkedEvents<Items> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SseMarkedEvents").field("status", &self.head().status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
