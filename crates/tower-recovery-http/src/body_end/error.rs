//! Ends that are none, or that may be none.

use std::fmt;

use http::Version;

/// A body ended cleanly before the length that its head promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body ended after {received} of {promised} bytes")]
#[non_exhaustive]
pub struct EndedEarly {
    /// How many bytes came.
    pub received: u64,
    /// The `content-length` of the head.
    pub promised: u64,
    /// The version of the head, which says what can have ended the body. Over HTTP/2 that is the peer's `NO_ERROR` for this stream; over HTTP/1, where hyper
    /// reports a short body itself, it is the end of the connection, from a client that does not.
    pub version: Version,
}

/// A body ended cleanly, and nothing proves that this was its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body ended after {received} bytes by {end}, which does not prove that this is the whole of it")]
#[non_exhaustive]
pub struct Unterminated {
    /// How many bytes came.
    pub received: u64,
    /// What ended it.
    pub end: UnprovenEnd,
}

/// What ends a body without proving that it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnprovenEnd {
    /// HTTP/2: the stream was reset with `NO_ERROR`, which hyper takes for an end (RFC 9113 §8.1 means it for a request that is not read any further).
    Reset,
    /// HTTP/1: the connection, which alone delimits the body (RFC 9112 §6.3). A server that died looks the same.
    ConnectionClosed,
}

impl fmt::Display for UnprovenEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Reset => "a reset of its stream",
            Self::ConnectionClosed => "the end of its connection",
        })
    }
}
