//! What can be wrong with an event stream itself.

use std::str::Utf8Error;

/// An event, or a line of one, grew beyond the limit. No more of it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than the limit of {limit} bytes")]
#[non_exhaustive]
pub struct EventTooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// A field of an event is not UTF-8, which event streams are (WHATWG HTML §9.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is not UTF-8")]
#[non_exhaustive]
pub struct EventNotUtf8 {
    /// Where in the field.
    pub source: Utf8Error,
}
