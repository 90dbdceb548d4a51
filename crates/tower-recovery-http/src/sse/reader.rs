//! From items to events, and to the verdicts that take their place.

use bytes::BytesMut;
use http::{StatusCode, response::Parts};
use tower::BoxError;
use tower_recovery::{Failure, Verdict, stream_replacement::Sight};

use super::{SseEvent, SseItem, SseVerdict, head::is_event_stream};

/// What is known of one answer.
pub(super) struct Reader {
    head: Parts,
    /// The beginning of a body that holds no events.
    raw: BytesMut,
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

impl Reader {
    pub(super) fn of(head: Parts) -> Self {
        Self { head, raw: BytesMut::new() }
    }

    pub(super) fn head(&self) -> &Parts {
        &self.head
    }

    /// The event that an item is, or the verdict; `None` while there is neither. A sign of life is none, and neither is an event that the rules of its stream call one.
    pub(super) fn take(&mut self, item: SseItem) -> Option<Result<SseEvent, Failure>> {
        match item {
            SseItem::Event(event) if event.sight() == Some(Sight::KeepAlive) => None,
            SseItem::Event(event) if event.sight() == Some(Sight::Verdict) => {
                Some(Err(answered(SseVerdict::of_any_event(&event))))
            }
            SseItem::Event(event) => Some(Ok(event)),
            SseItem::Raw(bytes) => {
                let room = RAW_LIMIT - self.raw.len();
                self.raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
                (self.raw.len() == RAW_LIMIT).then(|| Err(self.no_events()))
            }
            SseItem::KeepAlive | SseItem::Progress => None,
        }
    }

    /// What is to be said of items that broke: what the other side said itself, in its head or in what came of its body, and else what broke them.
    pub(super) fn broken_by(&self, failure: Failure) -> Failure {
        SseVerdict::of_body(&self.head, &self.raw).map_or(failure, answered)
    }

    /// What the end of the items says, if it is more than that.
    pub(super) fn end(&self) -> Option<Failure> {
        let was_of_events = self.raw.is_empty() && is_event_stream(self.head.status, &self.head.headers);
        (!was_of_events).then(|| self.no_events())
    }

    fn no_events(&self) -> Failure {
        match SseVerdict::of_body(&self.head, &self.raw) {
            Some(verdict) => answered(verdict),
            None => answered(NoEventStream { status: self.head.status }),
        }
    }
}

/// Whether the stream is over with this event, whatever else its connection may carry.
pub(super) fn is_last(event: &SseEvent) -> bool {
    event.sight() == Some(Sight::Terminal)
}

fn answered(error: impl Into<BoxError>) -> Failure {
    Failure::new(Verdict::answered(), error)
}
