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
    /// What ended the body: the client's own error, [`EndedEarly`](crate::EndedEarly) or [`Unterminated`](crate::Unterminated).
    pub source: BoxError,
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
