//! Blocks to events, by a parser that knows their fields.

use std::convert::Infallible;

use bytes::{Buf, Bytes};
use futures_util::{FutureExt, StreamExt, stream};
use sse_stream::{Error, Sse, SseByteStream};
use tower::BoxError;

use super::{EventNotUtf8, SseEvent, blocks::Blocks, event::Metadata};

/// What was found in a stream.
#[derive(Debug)]
pub(super) enum Parsed {
    Event(SseEvent),
    /// A JSON object where the first event was to be.
    Foreign(Bytes),
}

/// An unfinished event that is as long as this will be no ping, so that it is more than a sign of life. The pings of the providers have less than 100 bytes.
const LONGER_THAN_A_PING: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct Parser {
    blocks: Blocks,
    // Said by blocks without data, for the event that comes next.
    metadata: Metadata,
    // Nothing of an event stream was found yet.
    is_pristine: bool,
    // So much of the unfinished block had come before the chunk that is looked at.
    seen: usize,
}

impl Parser {
    pub(super) fn new(limit: usize) -> Self {
        Self { blocks: Blocks::new(limit), metadata: Metadata::default(), is_pristine: true, seen: 0 }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.blocks.set_limit(limit);
    }

    /// The next event that the chunk makes whole; `None` when there is no more of it.
    pub(super) fn next(&mut self, chunk: &mut Bytes) -> Result<Option<Parsed>, BoxError> {
        let mut input = &chunk[..];
        let mut found = None;
        while found.is_none() && self.blocks.take(&mut input)? {
            found = self.read_block()?;
            self.blocks.clear();
            self.seen = 0;
        }
        let taken = chunk.len() - input.len();
        chunk.advance(taken);
        Ok(found)
    }

    /// Whether an unfinished event has grown since this was asked last, and beyond what may become a ping.
    ///
    /// A ping can come in two parts. If its first one were progress, a stream of nothing but pings would look like one at work.
    pub(super) fn took_progress(&mut self) -> bool {
        let seen = std::mem::replace(&mut self.seen, self.blocks.len());
        self.blocks.len() > seen && self.blocks.len() >= LONGER_THAN_A_PING
    }

    fn read_block(&mut self) -> Result<Option<Parsed>, EventNotUtf8> {
        let Some(block) = parse(self.blocks.block())? else {
            return Ok(self.foreign_object().map(Parsed::Foreign));
        };
        self.is_pristine = false;
        Ok(match SseEvent::from_block(block) {
            Ok(mut event) => {
                event.inherit(&mut self.metadata);
                Some(Parsed::Event(event))
            }
            Err(metadata) => {
                self.metadata.update(metadata);
                None
            }
        })
    }

    /// What has come, if it is no event stream at all.
    pub(super) fn foreign_object(&self) -> Option<Bytes> {
        let block = self.blocks.block();
        let is_object = self.is_pristine && block.trim_ascii_start().starts_with(b"{");
        is_object.then(|| Bytes::copy_from_slice(block))
    }
}

/// What the fields of a block say; `None` if it has none that are known.
fn parse(block: &[u8]) -> Result<Option<Sse>, EventNotUtf8> {
    // The parser is a new one for each block, and would take a byte order mark off its first line: so its first line is a blank one.
    let whole = b"\n".chain(block).chain(&b"\n"[..]);
    let mut blocks = SseByteStream::new(stream::iter([Ok::<_, Infallible>(whole)]));
    match blocks.next().now_or_never().flatten() {
        Some(Ok(block)) => Ok(Some(block)),
        Some(Err(Error::Utf8Parse(source))) => Err(EventNotUtf8 { source }),
        Some(Err(_)) | None => Ok(None),
    }
}
