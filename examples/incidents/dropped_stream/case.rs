//! What goes wrong.

use std::time::Duration;

use tower_recovery_http::{Protocol, Transport};
use tower_recovery_test::{
    Gate,
    faulty::{ErrorCode, StreamEnding, StreamScript},
};

use super::model::{self, FIRST_ANSWER};

/// The model's time between two words. What it sends last has arrived when it resets the connection, which would throw it away.
const PACE: Duration = Duration::from_millis(30);
/// Between two pings.
const PING_INTERVAL: Duration = Duration::from_millis(50);

/// One fault over one protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) over: Over,
    pub(crate) fault: Fault,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Http1,
    Http2,
}

/// What the first call meets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// After two words the connection ends in order (FIN), and the body does not.
    Fin,
    /// After two words the connection is reset (RST).
    Rst,
    /// After two words the stream is reset, with a code that hyper takes for a good end.
    ResetNoError,
    /// After two words the stream is reset.
    ResetInternalError,
    /// After two words the body ends as a whole one does, but without `[DONE]`.
    CleanEnd,
    SilentBeforeHead,
    SilentAfterHead,
    SilentAfterTwoWords,
    /// Comments come, and never anything else.
    OnlyPings,
    /// The status is 503.
    Unavailable,
    /// After two words the model says that it is overloaded; then the connection ends.
    ErrorThenFin,
    /// The same, then the connection is reset.
    ErrorThenRst,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Drop,
    Silence,
    Verdict,
}

impl Case {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let over = |over| Fault::ALL.into_iter().map(move |fault| Self { over, fault });
        // HTTP/1 cannot reset one answer without its connection.
        over(Over::Http1).filter(|case| !case.fault.is_of_http2_alone()).chain(over(Over::Http2))
    }

    pub(crate) fn name(self) -> String {
        let over = match self.over {
            Over::Http1 => "http1",
            Over::Http2 => "http2",
        };
        format!("{over}_{}", self.fault.name())
    }

    pub(crate) fn transport(self) -> Transport {
        Transport::new().protocol(match self.over {
            Over::Http1 => Protocol::Http1,
            Over::Http2 => Protocol::Http2,
        })
    }
}

impl Fault {
    const ALL: [Self; 12] = [
        Self::Fin,
        Self::Rst,
        Self::ResetNoError,
        Self::ResetInternalError,
        Self::CleanEnd,
        Self::SilentBeforeHead,
        Self::SilentAfterHead,
        Self::SilentAfterTwoWords,
        Self::OnlyPings,
        Self::Unavailable,
        Self::ErrorThenFin,
        Self::ErrorThenRst,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::ResetNoError => "reset_no_error",
            Self::ResetInternalError => "reset_internal_error",
            Self::CleanEnd => "clean_end",
            Self::SilentBeforeHead => "silent_before_head",
            Self::SilentAfterHead => "silent_after_head",
            Self::SilentAfterTwoWords => "silent_after_two_words",
            Self::OnlyPings => "only_pings",
            Self::Unavailable => "unavailable",
            Self::ErrorThenFin => "error_then_fin",
            Self::ErrorThenRst => "error_then_rst",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Fin | Self::Rst | Self::ResetNoError | Self::ResetInternalError | Self::CleanEnd => Kind::Drop,
            Self::SilentBeforeHead | Self::SilentAfterHead | Self::SilentAfterTwoWords | Self::OnlyPings => {
                Kind::Silence
            }
            Self::Unavailable | Self::ErrorThenFin | Self::ErrorThenRst => Kind::Verdict,
        }
    }

    fn is_of_http2_alone(self) -> bool {
        matches!(self, Self::ResetNoError | Self::ResetInternalError)
    }

    /// How the first call is answered.
    pub(crate) fn script(self) -> StreamScript {
        let head = StreamScript::new();
        let two_words =
            FIRST_ANSWER[..2].iter().fold(head.clone(), |script, word| script.send(model::chunk(word)).wait(PACE));
        match self {
            Self::Fin => two_words.then(StreamEnding::Close),
            Self::Rst => two_words.then(StreamEnding::Reset),
            Self::ResetNoError => two_words.then(StreamEnding::ResetStream { code: ErrorCode::NO_ERROR }),
            Self::ResetInternalError => two_words.then(StreamEnding::ResetStream { code: ErrorCode::INTERNAL_ERROR }),
            Self::CleanEnd => two_words,
            Self::SilentBeforeHead => StreamScript::silent(),
            Self::SilentAfterHead => head.then(StreamEnding::Silence),
            Self::SilentAfterTwoWords => two_words.then(StreamEnding::Silence),
            Self::OnlyPings => head.send_every(": ping\n\n", PING_INTERVAL, &Gate::new()),
            Self::Unavailable => head.send_answer(usize::MAX),
            Self::ErrorThenFin => two_words.send(model::overloaded_event()).wait(PACE).then(StreamEnding::Close),
            Self::ErrorThenRst => two_words.send(model::overloaded_event()).wait(PACE).then(StreamEnding::Reset),
        }
    }
}
