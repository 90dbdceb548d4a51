//! Bodies in chunks, and what is decoded of them.

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http_body::{Body, Frame};
use http_body_util::StreamBody;
use tower::BoxError;
use tower_recovery_http::sse::{SseDecoder, SseEvent, SseItem};

pub(crate) fn body(chunks: Vec<Bytes>) -> impl Body<Data = Bytes, Error = BoxError> + Unpin {
    StreamBody::new(stream::iter(chunks.into_iter().map(|chunk| Ok(Frame::data(chunk)))))
}

/// What a body held: its events, what came raw, and its error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) events: Vec<SseEvent>,
    pub(crate) raw: Vec<Bytes>,
    pub(crate) error: Option<String>,
    // Not of the body, but of its frames.
    pub(crate) signs: usize,
}

pub(crate) fn held(chunks: Vec<Bytes>, limit: usize) -> Held {
    let decoder = SseDecoder::new(body(chunks)).max_event_bytes(limit).expect("the limit is in its bounds");
    let items: Vec<_> = decoder.collect().now_or_never().expect("the body is ready");
    let mut held = Held::default();
    for item in items {
        match item {
            Ok(SseItem::Event(event)) => held.events.push(event),
            Ok(SseItem::Raw(bytes)) => held.raw.push(bytes),
            Ok(_) => held.signs += 1,
            Err(error) => held.error = Some(error.to_string()),
        }
    }
    held
}
