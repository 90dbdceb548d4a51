//! Whether the end of a body was proven.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::{Version, header, response::Parts};

use crate::collect::promised_length;

/// Finds out whether a clean end of a body was its end, and tells it to who asked.
///
/// A clean end alone proves nothing: hyper ends the body like that when an HTTP/1 connection without another framing closes, and when the peer resets an HTTP/2
/// stream with `NO_ERROR`.
#[derive(Debug)]
pub(super) struct EndProof {
    framing: Framing,
    received: u64,
    proven: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug)]
enum Framing {
    Length(u64),
    /// The transport fails a body whose last chunk is missing.
    Chunked,
    /// The transport knows whether the peer said that this is the end.
    Http2,
    Close,
}

impl EndProof {
    pub(super) fn of(head: &Parts, proven: Arc<AtomicBool>) -> Self {
        let framing = if let Some(length) = promised_length(head, false) {
            Framing::Length(length)
        } else if head.version >= Version::HTTP_2 {
            Framing::Http2
        } else if head.headers.contains_key(header::TRANSFER_ENCODING) {
            Framing::Chunked
        } else {
            Framing::Close
        };
        Self { framing, received: 0, proven }
    }

    pub(super) fn received(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// The body has ended, and says of itself whether it is at its end.
    pub(super) fn ended(&self, is_end_stream: bool) {
        let is_proven = match self.framing {
            Framing::Length(promised) => self.received >= promised,
            Framing::Chunked => true,
            Framing::Http2 => is_end_stream,
            Framing::Close => false,
        };
        self.proven.store(is_proven, Ordering::Release);
    }
}
