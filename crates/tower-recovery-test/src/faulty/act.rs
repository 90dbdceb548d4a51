//! What the server does with a connection and with a request.

use std::time::Duration;

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
}

/// What happens to a request.
///
/// *Run* means that the request is executed: logged, and given to the application. *Close* is an orderly end of the connection (FIN),
/// which the client sees whatever it has sent in the meantime; *reset* is an RST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Run, then answer.
    #[default]
    Answer,
    /// Run, answer, then close, without a word of it in a `Connection` header.
    AnswerThenClose,
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
}
