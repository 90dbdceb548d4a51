//! From a body to its events.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use futures_util::{Stream, stream::FusedStream};
use http_body::Body;
use tower::BoxError;
use tower_recovery::{InvalidSetting, stream_replacement::Sight};

use super::{
    SseEvent, SseItem,
    error_object::is_error_object,
    parse::{Parsed, Parser},
};

/// The events of a body, as they become whole, and signs of life between them. See the [module](super).
///
/// An error ends it: that of the body, or [`EventTooLong`](super::EventTooLong), or [`EventNotUtf8`](super::EventNotUtf8). What is unfinished when the
/// body ends is no event and is thrown away. Trailers are, too: an event stream has no use for them.
///
/// # Cancel safety
///
/// Nothing is lost between two polls; a decoder that is dropped drops the body.
#[must_use = "streams do nothing unless polled"]
pub struct SseDecoder<ResponseBody> {
    body: ResponseBody,
    // What came last of the body and was not looked at yet.
    input: Bytes,
    parser: Option<Parser>,
    look: Option<fn(&SseEvent) -> Sight>,
    // Whether what came last has given an event, or is to be answered by a sign of life.
    sign: Sign,
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    NotOwed,
    Owed,
    /// There was an event, which is one.
    Given,
}

/// How many bytes an event may hold, unless that is set.
pub(super) const MAX_EVENT_BYTES: usize = 16 << 20;

impl<ResponseBody> SseDecoder<ResponseBody> {
    /// The events of this body, of 16 MiB each at the most.
    pub fn new(body: ResponseBody) -> Self {
        Self { parser: Some(Parser::new(MAX_EVENT_BYTES)), ..Self::raw(body) }
    }

    /// How many bytes an event may hold, its field names and line ends included: what is longer ends the stream with
    /// [`EventTooLong`](super::EventTooLong). While an event is made, it is in memory about three times.
    ///
    /// # Errors
    ///
    /// It is not from 1 to 2^30 (1 GiB).
    pub fn max_event_bytes(mut self, limit: usize) -> Result<Self, InvalidSetting> {
        let limit = checked_max_event_bytes(limit)?;
        self.set_max_event_bytes(limit);
        Ok(self)
    }

    /// The frames of this body as they are.
    pub(super) fn raw(body: ResponseBody) -> Self {
        Self { body, input: Bytes::new(), parser: None, look: None, sign: Sign::NotOwed, ended: false }
    }

    /// Each event is to know what is seen in it.
    pub(super) fn set_look(&mut self, look: fn(&SseEvent) -> Sight) {
        self.look = Some(look);
    }

    pub(super) fn set_max_event_bytes(&mut self, limit: usize) {
        if let Some(parser) = &mut self.parser {
            parser.set_limit(limit);
        }
    }

    /// What can be said without the body.
    fn next_of_input(&mut self) -> Option<Result<SseItem, BoxError>> {
        let Some(parser) = &mut self.parser else {
            let frame = std::mem::take(&mut self.input);
            return (!frame.is_empty()).then(|| Ok(SseItem::Raw(frame)));
        };
        if !self.input.is_empty() {
            let parsed = parser.next(&mut self.input);
            match parsed {
                Ok(Some(Parsed::Event(event))) => {
                    self.sign = Sign::Given;
                    return Some(Ok(SseItem::Event(match self.look {
                        Some(look) => event.seen(look),
                        None => event,
                    })));
                }
                Ok(Some(Parsed::Foreign(object))) => {
                    self.sign = Sign::Given;
                    return Some(Ok(SseItem::Raw(object)));
                }
                Ok(None) => {}
                Err(error) => return Some(Err(self.end_with(error))),
            }
        }
        let sign = std::mem::replace(&mut self.sign, Sign::NotOwed);
        match sign {
            Sign::NotOwed => None,
            Sign::Owed | Sign::Given if parser.took_progress() => Some(Ok(SseItem::Progress)),
            Sign::Owed => Some(Ok(SseItem::KeepAlive)),
            Sign::Given => None,
        }
    }

    /// The body ended cleanly. What is left of an event is none.
    fn end(&mut self) -> Option<SseItem> {
        self.ended = true;
        let object = self.parser.take()?.foreign_object()?;
        Some(SseItem::Raw(object))
    }

    fn end_with(&mut self, error: BoxError) -> BoxError {
        self.ended = true;
        self.input = Bytes::new();
        self.parser = None;
        error
    }
}

impl<ResponseBody> Stream for SseDecoder<ResponseBody>
where
    ResponseBody: Body + Unpin,
    ResponseBody::Error: Into<BoxError>,
{
    type Item = Result<SseItem, BoxError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        while !this.ended {
            if let Some(item) = this.next_of_input() {
                return Poll::Ready(Some(item));
            }
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let Ok(mut data) = frame.into_data() else { continue };
                    if !data.has_remaining() {
                        continue;
                    }
                    this.input = data.copy_to_bytes(data.remaining());
                    this.sign = Sign::Owed;
                }
                Some(Err(error)) => {
                    // An error object that is whole is the other side's last word, whatever ended the body after it.
                    let object = this.end().filter(|item| matches!(item, SseItem::Raw(it) if is_error_object(it)));
                    return Poll::Ready(Some(object.ok_or_else(|| this.end_with(error.into()))));
                }
                None => return Poll::Ready(this.end().map(Ok)),
            }
        }
        Poll::Ready(None)
    }
}

impl<ResponseBody> FusedStream for SseDecoder<ResponseBody>
where
    ResponseBody: Body + Unpin,
    ResponseBody::Error: Into<BoxError>,
{
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

/// Without the body, and without what came of it.
impl<ResponseBody> fmt::Debug for SseDecoder<ResponseBody> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SseDecoder")
            .field("is_raw", &self.parser.is_none())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

pub(super) fn checked_max_event_bytes(limit: usize) -> Result<usize, InvalidSetting> {
    if (1..=1 << 30).contains(&limit) {
        Ok(limit)
    } else {
        Err(InvalidSetting::new("max_event_bytes", limit, "from 1 to 1073741824 (1 GiB)"))
    }
}

#[cfg(test)]
mod tests;
