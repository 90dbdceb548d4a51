//! Events and nothing else, with verdicts for errors.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use bytes::BytesMut;
use futures_util::{Stream, stream};
use http::{StatusCode, response::Parts};
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_recovery::{
    Failure, Verdict,
    stream_replacement::{Admitted, Sight, StreamReport, WholeStream},
};

use super::{SseEvent, SseItem, SseRules, SseVerdict, head::is_event_stream};

pin_project! {
    /// The events of a stream that was admitted, for readers that want events: what the other side says no with is an error, by the name of [`SseVerdict`], and so is an
    /// answer that is no event stream.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::pin::pin;
    /// use futures_util::{Stream, StreamExt};
    /// use http::response::Parts;
    /// use tower_recovery::{Failure, stream_replacement::Admitted};
    /// use tower_recovery_http::sse::{SseEvents, SseItem, SseRules, SseVerdict};
    ///
    /// async fn words<Items>(answer: Admitted<Parts, Items>) -> Result<String, Failure>
    /// where
    ///     Items: Stream<Item = Result<SseItem, Failure>>,
    /// {
    ///     let mut events = pin!(SseEvents::of(answer, SseRules::openai_chat()));
    ///     let mut words = String::new();
    ///     while let Some(event) = events.next().await {
    ///         words.push_str(event.inspect_err(|failure| eprintln!("{:?}", failure.find::<SseVerdict>()))?.data());
    ///     }
    ///     Ok(words)
    /// }
    /// # let _ = words::<futures_util::stream::Empty<Result<SseItem, Failure>>>;
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the stream as they are, and [answered](tower_recovery::Delivery::Answered) [`Failure`]s with an [`SseVerdict`] or a [`NoEventStream`]. After an error it is over.
    #[must_use = "streams do nothing unless polled"]
    pub struct SseEvents<Items> {
        head: Parts,
        report: StreamReport,
        rules: SseRules,
        // The beginning of a body that holds no events.
        raw: BytesMut,
        // `None` after the end.
        #[pin]
        items: Option<Items>,
    }
}

/// The other side answered, without a verdict that is known, and without an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer, with status {status}, is no event stream")]
#[non_exhaustive]
pub struct NoEventStream {
    /// The status of its head.
    pub status: StatusCode,
}

/// So much of a body that holds no events is looked at: an error in JSON is short.
const RAW_LIMIT: usize = 64 << 10;

impl<Items> SseEvents<Items>
where
    Items: Stream<Item = Result<SseItem, Failure>>,
{
    /// The events of this answer, which say no as these rules have it.
    pub fn of(answer: Admitted<Parts, Items>, rules: SseRules) -> Self {
        let Admitted { head, items, report, .. } = answer;
        Self { head, report, rules, raw: BytesMut::new(), items: Some(items) }
    }
}

/// The items of a stream that came whole.
type Wholly = stream::Iter<std::iter::Map<vec::IntoIter<SseItem>, fn(SseItem) -> Result<SseItem, Failure>>>;

impl SseEvents<Wholly> {
    /// The events of this answer, which came whole.
    pub fn of_whole(answer: WholeStream<Parts, SseItem>, rules: SseRules) -> Self {
        let WholeStream { head, items, report, .. } = answer;
        let items: std::iter::Map<_, fn(_) -> _> = items.into_iter().map(Ok);
        Self { head, report, rules, raw: BytesMut::new(), items: Some(stream::iter(items)) }
    }
}

impl<Items> SseEvents<Items> {
    /// The head of the answer.
    pub fn head(&self) -> &Parts {
        &self.head
    }

    /// What had become of the attempts when the stream was handed out.
    pub fn report(&self) -> &StreamReport {
        &self.report
    }
}

impl<Items> Stream for SseEvents<Items>
where
    Items: Stream<Item = Result<SseItem, Failure>>,
{
    type Item = Result<SseEvent, Failure>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let failure = loop {
            let Some(items) = this.items.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            match ready!(items.poll_next(context)) {
                Some(Ok(SseItem::Event(event))) if this.rules.sight(&event) == Sight::Verdict => {
                    break answered(SseVerdict::of_any_event(&event));
                }
                Some(Ok(SseItem::Event(event))) => return Poll::Ready(Some(Ok(event))),
                Some(Ok(SseItem::Raw(bytes))) => {
                    let room = RAW_LIMIT - this.raw.len();
                    this.raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    if this.raw.len() == RAW_LIMIT {
                        break not_of_events(this.head, this.raw);
                    }
                }
                Some(Ok(SseItem::KeepAlive | SseItem::Progress)) => {}
                Some(Err(failure)) => break failure,
                None if this.raw.is_empty() && is_event_stream(this.head.status, &this.head.headers) => {
                    this.items.set(None);
                    return Poll::Ready(None);
                }
                None => break not_of_events(this.head, this.raw),
            }
        };
        this.items.set(None);
        Poll::Ready(Some(Err(failure)))
    }
}

fn not_of_events(head: &Parts, raw: &[u8]) -> Failure {
    match SseVerdict::of_body(head, raw) {
        Some(verdict) => answered(verdict),
        None => answered(NoEventStream { status: head.status }),
    }
}

fn answered(error: impl Into<BoxError>) -> Failure {
    Failure::new(Verdict::answered(), error)
}

impl<Items> fmt::Debug for SseEvents<Items> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SseEvents").field("status", &self.head.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
