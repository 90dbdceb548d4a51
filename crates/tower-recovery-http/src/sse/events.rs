//! Events and nothing else, with verdicts for errors.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use futures_util::{Stream, stream};
use http::response::Parts;
use pin_project_lite::pin_project;
use tower_recovery::{
    Failure,
    stream_replacement::{Admitted, StreamReport, WholeStream},
};

use super::{
    SseEvent, SseItem,
    reader::{Reader, is_last},
};

pin_project! {
    /// The events of a stream that was admitted, for readers that want events: what the other side says no with is an error, by the name of
    /// [`SseVerdict`](super::SseVerdict), and so is an answer that is no event stream. What is a no, the [rules](super::SseRules) of the stream have said.
    ///
    /// An event that they call a [keep-alive](tower_recovery::stream_replacement::Sight::KeepAlive) is passed over, and with a
    /// [terminal](tower_recovery::stream_replacement::Sight::Terminal) one the stream is over and dropped, whether it is watched below or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::pin::pin;
    /// use futures_util::{Stream, StreamExt};
    /// use http::response::Parts;
    /// use tower_recovery::{Failure, stream_replacement::Admitted};
    /// use tower_recovery_http::sse::{SseEvents, SseItem, SseVerdict};
    ///
    /// async fn words<Items>(answer: Admitted<Parts, Items>) -> Result<String, Failure>
    /// where
    ///     Items: Stream<Item = Result<SseItem, Failure>>,
    /// {
    ///     let mut events = pin!(SseEvents::of(answer));
    ///     let mut words = String::new();
    ///     while let Some(event) = events.next().await {
    ///         words.push_str(event.inspect_err(|failure| eprintln!("{:?}", failure.find::<SseVerdict>()))?.data());
    ///     }
    ///     Ok(words)
    /// }
    /// # let _ = words::<futures_util::stream::Empty<Result<SseItem, Failure>>>;
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops the stream, with what that says of it; nothing is lost between two polls.
    ///
    /// # Errors
    ///
    /// Those of the stream as they are, unless the other side had said no before it broke: by the status of its head, or by an error in what came of a body that holds no
    /// events. And [answered](tower_recovery::Delivery::Answered) [`Failure`]s with an [`SseVerdict`](super::SseVerdict) or a
    /// [`NoEventStream`](super::NoEventStream). After an error it is over.
    #[must_use = "streams do nothing unless polled"]
    pub struct SseEvents<Items> {
        report: StreamReport,
        reader: Reader,
        // `None` after the end.
        #[pin]
        items: Option<Items>,
    }
}

impl<Items> SseEvents<Items> {
    /// The events of this answer, whose items come as they come.
    pub fn of(answer: Admitted<Parts, Items>) -> Self
    where
        Items: Stream<Item = Result<SseItem, Failure>>,
    {
        let Admitted { head, items, report, .. } = answer;
        Self { report, reader: Reader::of(head), items: Some(items) }
    }

    /// The head of the answer.
    pub fn head(&self) -> &Parts {
        self.reader.head()
    }

    /// What had become of the attempts when the stream was handed out.
    pub fn report(&self) -> &StreamReport {
        &self.report
    }
}

/// The items of a stream that came whole.
type Wholly = stream::Iter<std::iter::Map<vec::IntoIter<SseItem>, fn(SseItem) -> Result<SseItem, Failure>>>;

impl SseEvents<Wholly> {
    /// The events of this answer, which came whole.
    pub fn of_whole(answer: WholeStream<Parts, SseItem>) -> Self {
        let WholeStream { head, items, report, .. } = answer;
        let items: std::iter::Map<_, fn(_) -> _> = items.into_iter().map(Ok);
        Self { report, reader: Reader::of(head), items: Some(stream::iter(items)) }
    }
}

impl<Items> Stream for SseEvents<Items>
where
    Items: Stream<Item = Result<SseItem, Failure>>,
{
    type Item = Result<SseEvent, Failure>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let last = loop {
            let Some(items) = this.items.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            match ready!(items.poll_next(context)) {
                Some(Ok(item)) => match this.reader.take(item) {
                    Some(Ok(event)) => {
                        if is_last(&event) {
                            this.items.set(None);
                        }
                        return Poll::Ready(Some(Ok(event)));
                    }
                    Some(Err(failure)) => break Some(failure),
                    None => {}
                },
                Some(Err(failure)) => break Some(this.reader.broken_by(failure)),
                None => break this.reader.end(),
            }
        };
        this.items.set(None);
        Poll::Ready(last.map(Err))
    }
}

impl<Items> fmt::Debug for SseEvents<Items> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SseEvents").field("status", &self.head().status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
