//! What a streamed body consists of.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;

use super::super::ErrorCode;
use crate::Gate;

/// How one answer is streamed: for requests with the act [`Stream`](super::super::Act::Stream).
///
/// The request is executed, and the status and the headers of the application's response are sent at once; then comes the body, which is
/// what the steps of this script send, one after another, and then the [ending](StreamEnding). The application's own body is sent only
/// where a step [says so](Self::send_answer).
///
/// The server sends no faster than the client takes it, and watches the client in every step, so that it stops as soon as
/// the client has left: when the socket was closed or reset, or on HTTP/2, when the stream was reset.
///
/// Where no body is allowed (`HEAD`, 204, 304), the head is the whole answer, and the steps and the ending are passed by.
///
/// # Framing
///
/// By default a body is chunked on HTTP/1, and without a content length on HTTP/2.
///
/// # Examples
///
/// Two events, then nothing but keep-alives until the test says so, then a reset:
///
/// ```
/// use std::time::Duration;
/// use tower_recovery_test::{Gate, faulty::{StreamEnding, StreamScript}};
///
/// let gate = Gate::new();
/// let script = StreamScript::new()
///     .send("data: Hello\n\n")
///     .send("data: world\n\n")
///     .send_every(": ping\n\n", Duration::from_millis(20), &gate)
///     .then(StreamEnding::Reset);
/// # let _ = script;
/// ```
#[derive(Clone, Debug, Default)]
pub struct StreamScript {
    /// What comes before the head.
    pub(super) lead: Vec<Pause>,
    pub(super) framing: StreamFraming,
    pub(super) steps: Vec<StreamStep>,
    pub(in super::super) trailers: Option<HeaderMap>,
    pub(in super::super) ending: StreamEnding,
}

/// How the end of a streamed body is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StreamFraming {
    #[default]
    Open,
    Length(u64),
    UntilClose,
}

#[derive(Clone, Debug)]
pub(super) enum Pause {
    Time(Duration),
    Gate(Gate),
}

#[derive(Clone, Debug)]
pub(super) enum StreamStep {
    Send { bytes: Bytes, times: u64 },
    SendEvery { bytes: Bytes, interval: Duration, until: Gate },
    SendAnswer { at_most: usize },
    Pause(Pause),
}

/// How a streamed answer ends, once all of its steps are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnding {
    /// As the protocol wants it: by the last chunk, or by `END_STREAM`. Where there is no such thing, since the answer is
    /// [delimited by the close](StreamScript::close_delimited) or has not the [promised length](StreamScript::content_length), HTTP/1
    /// closes the connection.
    #[default]
    End,
    /// By an orderly end of the connection (FIN), on HTTP/1 without a last chunk, on HTTP/2 without an `END_STREAM`.
    Close,
    /// By a reset of the connection (RST). It throws away what the client's system has not taken in yet.
    Reset,
    /// By an `RST_STREAM`. With the code `NO_ERROR`, there are clients that take that for a good end.
    ///
    /// On HTTP/1: as [`Reset`](Self::Reset).
    ResetStream {
        /// The code of the frame.
        code: ErrorCode,
    },
    /// Never: nothing more is sent, and the connection stays open until the client has left.
    Silence,
}

impl StreamScript {
    /// Makes a script that sends a head and no body, and ends properly.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a script that sends nothing at all, not even a head, until the client has left.
    ///
    /// [`Act::RunThenFreeze`](super::super::Act::RunThenFreeze) does that as well, until a thaw; here, the moment of the leaving is told.
    #[must_use]
    pub fn silent() -> Self {
        Self::new().head_behind(&Gate::new())
    }

    /// Holds the head back until the gate is open. The request is executed before that.
    #[must_use]
    pub fn head_behind(mut self, gate: &Gate) -> Self {
        self.lead.push(Pause::Gate(gate.clone()));
        self
    }

    /// Holds the head back for this time. The request is executed before that.
    #[must_use]
    pub fn head_delayed(mut self, delay: Duration) -> Self {
        self.lead.push(Pause::Time(delay));
        self
    }

    /// Promises this length in a `content-length`, whatever the steps really send. On HTTP/1 the body is not chunked then.
    #[must_use]
    pub fn content_length(mut self, bytes: u64) -> Self {
        self.framing = StreamFraming::Length(bytes);
        self
    }

    /// Lets the close of the connection end the body, without any framing, and says `Connection: close`.
    ///
    /// On HTTP/2, which has no such thing: as by default.
    #[must_use]
    pub fn close_delimited(mut self) -> Self {
        self.framing = StreamFraming::UntilClose;
        self
    }

    /// Sends these bytes at once: one chunk of HTTP/1, one `DATA` frame of HTTP/2 if the client's window allows it. No bytes send nothing.
    #[must_use]
    pub fn send(self, bytes: impl Into<Bytes>) -> Self {
        self.send_times(bytes, 1)
    }

    /// As [`send`](Self::send), so many times over, without taking more memory for it.
    #[must_use]
    pub fn send_times(self, bytes: impl Into<Bytes>, times: u64) -> Self {
        self.step(StreamStep::Send { bytes: bytes.into(), times })
    }

    /// Sends these bytes again and again until the gate is open, after one interval for the first time. A gate that nobody opens lets
    /// it go on until the client has left.
    #[must_use]
    pub fn send_every(self, bytes: impl Into<Bytes>, interval: Duration, until: &Gate) -> Self {
        self.step(StreamStep::SendEvery { bytes: bytes.into(), interval, until: until.clone() })
    }

    /// Sends at once what is left of the body that the application has answered with, but `at_most` so many bytes of it.
    #[must_use]
    pub fn send_answer(self, at_most: usize) -> Self {
        self.step(StreamStep::SendAnswer { at_most })
    }

    /// Sends nothing until the gate is open.
    #[must_use]
    pub fn wait_for(self, gate: &Gate) -> Self {
        self.step(StreamStep::Pause(Pause::Gate(gate.clone())))
    }

    /// Sends nothing for this time.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.step(StreamStep::Pause(Pause::Time(time)))
    }

    /// Sends these trailers with a proper [`End`](StreamEnding::End); on HTTP/1, if the body is chunked.
    #[must_use]
    pub fn trailers(mut self, trailers: HeaderMap) -> Self {
        self.trailers = Some(trailers);
        self
    }

    /// Ends so. The default is a proper [`End`](StreamEnding::End).
    #[must_use]
    pub fn then(mut self, ending: StreamEnding) -> Self {
        self.ending = ending;
        self
    }

    /// What `content-length` says, if there is one.
    #[cfg(feature = "http2")]
    pub(in super::super) fn promised_length(&self) -> Option<u64> {
        match self.framing {
            StreamFraming::Length(bytes) => Some(bytes),
            StreamFraming::Open | StreamFraming::UntilClose => None,
        }
    }

    fn step(mut self, step: StreamStep) -> Self {
        self.steps.push(step);
        self
    }
}
