//! What a stream of server-sent events is made of.

use bytes::Bytes;

use super::SseEvent;

/// What a response with server-sent events is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SseItem {
    /// A whole event.
    Event(SseEvent),
    /// Bytes came, and nothing that work must have gone into: comments, blank lines, a block without data, a part of an event of which less than 4 KiB have come. That part
    /// may be one of a ping.
    KeepAlive,
    /// Bytes came of an event that is not whole yet, and of which 4 KiB or more have come: no ping is so long.
    Progress,
    /// Bytes as they came, of a body that holds no events: that of a response that is no event stream, or a JSON object in the place of one.
    Raw(Bytes),
}

impl SseItem {
    /// The bytes that stand for it in a body: a whole event with its blank line, or what came raw. `None` for a sign of life.
    #[must_use]
    pub fn into_bytes(self) -> Option<Bytes> {
        match self {
            Self::Event(event) => Some(event.into_bytes()),
            Self::Raw(bytes) => Some(bytes),
            Self::KeepAlive | Self::Progress => None,
        }
    }

    /// The event, if it is one.
    #[must_use]
    pub fn into_event(self) -> Option<SseEvent> {
        if let Self::Event(event) = self { Some(event) } else { None }
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Event(event) => event.size(),
            Self::Raw(bytes) => bytes.len(),
            Self::KeepAlive | Self::Progress => 0,
        }
    }
}
