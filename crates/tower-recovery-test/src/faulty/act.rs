//! What the server does with a connection and with a request.

use std::time::Duration;

use http::StatusCode;

use super::{AfterGoAway, ErrorCode, GoAway, Until};

/// What happens to a connection when it is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionAct {
    /// Requests are read and served.
    #[default]
    Serve,
    /// It is closed before anything is read: the client sees an orderly end (FIN).
    CloseAtAccept,
    /// It is reset before anything is read (RST).
    ResetAtAccept,
    /// Nothing is read or written until then, not even a TLS handshake; then it is served.
    FreezeAtAccept {
        /// What ends it.
        until: Until,
    },
    /// The client's first message of the TLS handshake is read, and then it is closed. Without TLS, whatever comes first is read.
    CutHandshake,
    /// As [`CutHandshake`](Self::CutHandshake), but with a reset in the place of the close.
    ResetHandshake,
}

/// What happens to a request.
///
/// *Run* means that the request is executed: logged, and given to the application. *Close* is an orderly end of the connection (FIN),
/// which the client sees whatever it has sent in the meantime; *reset* is an RST. Over TLS, a close is announced (`close_notify`), and a
/// reset is not.
///
/// # On HTTP/2
///
/// An act is for its request alone, unless it ends or freezes the connection: then it ends or freezes it for all of its requests. What was
/// sent before that still goes out; what was not run never will be. A connection ends without a `GOAWAY`, unless the act says so. Acts that
/// only HTTP/2 can express say what HTTP/1 does in their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Run, then answer.
    #[default]
    Answer,
    /// Run, then answer by a stream, with a body that is sent step by step as a [`StreamScript`](super::StreamScript) says: see
    /// [`FaultyServerBuilder::streams`](super::FaultyServerBuilder::streams). Where there is none for the request: as [`Answer`](Self::Answer).
    Stream,
    /// Run, answer, then close, without a word of it in a `Connection` header.
    AnswerThenClose,
    /// Run, answer, then close the socket for both directions: the client sees a FIN, and what it sends after that is met by an RST.
    AnswerThenAbandon,
    /// Run, answer, leave the connection idle until then, and say goodbye with an unsolicited `408` and a close, to be
    /// [waited for](crate::FaultyServer::wait_until_timed_out).
    ///
    /// A request that the client sends in the meantime is never looked at. On HTTP/2, where nothing can be said without a request, the
    /// goodbye is a `GOAWAY` with the code `NO_ERROR`; requests in the meantime are served.
    AnswerThenTimeOut {
        /// What ends the idle time.
        idle: Until,
    },
    /// Read the head alone, send an answer of this status without a body, and end the server's side; leave the body unread until then, and
    /// close without reading it, which resets the connection if there is something unread.
    ///
    /// On HTTP/1 the answer says `Connection: close`. On HTTP/2 the stream alone ends, with an `RST_STREAM` of `NO_ERROR` for what is
    /// unread.
    RejectAtHead {
        /// The status of the answer, such as `413`.
        status: StatusCode,
        /// How long the body is left unread after the answer.
        unread: Until,
    },
    /// Read the whole request, and close without running it.
    ReadThenClose,
    /// Read the whole request, and reset without running it.
    ReadThenReset,
    /// Run, then close without a byte of an answer.
    RunThenClose,
    /// Run, then reset without a byte of an answer.
    RunThenReset,
    /// Run, then neither answer nor close until the next [thaw](crate::FaultyServer::thaw), which lets the answer out.
    RunThenFreeze,
    /// Hold the request until the next [thaw](crate::FaultyServer::thaw), then run it even if the client is long gone, then answer.
    FreezeThenRun,
    /// Run, then read and write nothing on the connection until then, and then answer.
    ///
    /// The client gets no byte and no end, on HTTP/2 not even the acknowledgement of a `PING`, and its own end is not seen. Other
    /// requests of the connection that were read are run as ever; their answers wait. Other connections are not concerned.
    RunThenFreezeConnection {
        /// What ends it.
        until: Until,
    },
    /// Hold the request until then, with a connection as frozen as by
    /// [`RunThenFreezeConnection`](Self::RunThenFreezeConnection), then run it, then answer.
    FreezeConnectionThenRun {
        /// What ends it.
        until: Until,
    },
    /// Run, send the first half of the answer's head, then close.
    PartialHead,
    /// Run, send the head and a part of the body, then close.
    ///
    /// An answer that may carry a body is always incomplete: if the application's is not longer than `sent`, all of it is sent, and the
    /// head promises `sent + 1` bytes. Where no body is allowed (`HEAD`, 204, 304), the answer is complete, and then comes the close.
    PartialBody {
        /// How many bytes of the body are sent.
        sent: usize,
    },
    /// As [`PartialBody`](Self::PartialBody), but with a reset in the place of the close.
    ///
    /// A reset throws away what the client's system has not taken in yet: keep `sent` below some 10 KiB if the client must see it all.
    PartialBodyThenReset {
        /// How many bytes of the body are sent.
        sent: usize,
    },
    /// Run at once, answer after a delay.
    Slow {
        /// The time between the execution and the answer.
        delay: Duration,
    },
    /// Wait, then run and answer.
    SlowThenRun {
        /// The time before the execution.
        delay: Duration,
    },
    /// Read the head alone, and refuse the stream without running it: `RST_STREAM` with `REFUSED_STREAM`.
    ///
    /// On HTTP/1: as [`ReadThenReset`](Self::ReadThenReset).
    RefuseStream,
    /// Read the whole request, and send `RST_STREAM` without running it.
    ///
    /// On HTTP/1: as [`ReadThenReset`](Self::ReadThenReset).
    ReadThenResetStream {
        /// The code of the frame.
        code: ErrorCode,
    },
    /// Run, then send `RST_STREAM` without a head.
    ///
    /// On HTTP/1: as [`RunThenReset`](Self::RunThenReset).
    RunThenResetStream {
        /// The code of the frame.
        code: ErrorCode,
    },
    /// Run, send the head and a part of the body as [`PartialBody`](Self::PartialBody) does, then send `RST_STREAM`. With the code
    /// `NO_ERROR`, there are clients that take that for a good end.
    ///
    /// On HTTP/1: as [`PartialBodyThenReset`](Self::PartialBodyThenReset).
    PartialBodyThenResetStream {
        /// How many bytes of the body are sent.
        sent: usize,
        /// The code of the frame.
        code: ErrorCode,
    },
    /// Read the whole request, and send `GOAWAY` without running it. It gets no answer, whatever becomes of the connection.
    ///
    /// On HTTP/1: as [`ReadThenClose`](Self::ReadThenClose).
    ReadThenGoAway(GoAway),
    /// Run, then send `GOAWAY`. If the connection stays open, the answer comes after that.
    ///
    /// On HTTP/1: as [`RunThenClose`](Self::RunThenClose), or, if the connection is to stay open, as
    /// [`AnswerThenClose`](Self::AnswerThenClose).
    RunThenGoAway(GoAway),
}

impl Act {
    /// What HTTP/1 does in the place of what only HTTP/2 can express.
    pub(super) fn on_http1(self) -> Self {
        match self {
            Self::RefuseStream | Self::ReadThenResetStream { .. } => Self::ReadThenReset,
            Self::RunThenResetStream { .. } => Self::RunThenReset,
            Self::PartialBodyThenResetStream { sent, .. } => Self::PartialBodyThenReset { sent },
            Self::ReadThenGoAway(_) => Self::ReadThenClose,
            Self::RunThenGoAway(GoAway { then: AfterGoAway::Close, .. }) => Self::RunThenClose,
            Self::RunThenGoAway(GoAway { then: AfterGoAway::StayOpen, .. }) => Self::AnswerThenClose,
            other => other,
        }
    }
}
