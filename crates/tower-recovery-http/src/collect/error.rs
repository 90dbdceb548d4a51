//! What can become of a body.

use std::fmt;

use http::{HeaderMap, StatusCode};
use tower::BoxError;

/// The head of an answer came, but not the whole of its body.
#[derive(thiserror::Error)]
#[error("the body of an answer with status {status} is incomplete")]
#[non_exhaustive]
pub struct IncompleteBody {
    /// The status of the head.
    pub status: StatusCode,
    /// The headers of the head.
    pub headers: HeaderMap,
    /// What ended the body.
    pub source: BoxError,
}

/// A body ended before the length that its head promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body ended after {received} of {promised} bytes")]
#[non_exhaustive]
pub struct EndedEarly {
    /// How many bytes came.
    pub received: u64,
    /// The `content-length` of the head.
    pub promised: u64,
}

/// The body of an answer is longer than the limit.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body of an answer with status {status} is longer than the limit of {limit} bytes")]
#[non_exhaustive]
pub struct BodyTooLong {
    /// The status of the head.
    pub status: StatusCode,
    /// The headers of the head.
    pub headers: HeaderMap,
    /// The limit in bytes.
    pub limit: usize,
}

/// Without the headers, which may be credentials.
impl fmt::Debug for IncompleteBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("IncompleteBody")
            .field("status", &self.status)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// Without the headers, which may be credentials.
impl fmt::Debug for BodyTooLong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BodyTooLong")
            .field("status", &self.status)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
