//! What a `GOAWAY` says, and what comes after it.

use super::ErrorCode;

/// A `GOAWAY` frame of an HTTP/2 connection.
///
/// It tells the client that streams above a last one were not and will not be processed. Such streams are ignored from there on: the
/// script is not asked about them, and they get no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoAway {
    /// The last stream that was, or may have been, processed.
    pub last_stream: LastStream,
    /// Why.
    pub code: ErrorCode,
    /// What becomes of the connection.
    pub then: AfterGoAway,
}

/// The last stream that a [`GoAway`] names. The server does not mind if that is a lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastStream {
    /// The one before this request's: this request was not processed.
    BelowThis,
    /// This request's: it was, or may have been, processed, as may all before it.
    This,
    /// The one with this id, of which 31 bits count. `u32::MAX >> 1` is the notice of a shutdown to come, and ignores nothing.
    Id(u32),
}

/// What becomes of a connection after a [`GoAway`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterGoAway {
    /// It is closed. What was not answered never will be, and what was not run never will be.
    Close,
    /// It stays open until the client ends it, and what was accepted is answered.
    StayOpen,
}

impl GoAway {
    /// A `GOAWAY` with the code `NO_ERROR`, and a close after it.
    #[must_use]
    pub fn new(last_stream: LastStream) -> Self {
        Self { last_stream, code: ErrorCode::NO_ERROR, then: AfterGoAway::Close }
    }

    /// With this code.
    #[must_use]
    pub fn code(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    /// Leaves the connection open.
    #[must_use]
    pub fn stay_open(self) -> Self {
        Self { then: AfterGoAway::StayOpen, ..self }
    }
}
