//! The protocol of the scripts: calls, the ways in which an attempt ends, and what each of them proves.

use std::error::Error;

use tower::BoxError;
use tower_recovery::{Classify, Delivery, Failure, NamedRules, ReadMethods, Verdict, sources};

/// A call. It cannot be cloned: only the rules copy it, where it can be copied at all.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: u32,
    pub(crate) method: Method,
    pub(crate) silent: Option<bool>,
    pub(crate) copyable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Write,
    Read,
    SilentRead,
}

impl Method {
    pub(crate) fn is_write(self) -> bool {
        self == Self::Write
    }

    fn name(self) -> &'static str {
        match self {
            Self::Write => "commit",
            Self::Read => "list",
            Self::SilentRead => "read",
        }
    }
}

pub(crate) fn rules() -> NamedRules<Call> {
    NamedRules::new(|call: &Call| call.method.name(), ReadMethods::new().read("list").silent("read"))
        .copied_by(|call| call.copyable.then_some(Call { ..*call }))
        .silenced_by(|call| {
            call.silent.get_or_insert(true);
        })
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Executed, and answered.
    Answered {
        stale: bool,
    },
    /// Answered by an error: a verdict of the other side.
    Denied {
        stale: bool,
    },
    /// A response that refuses.
    Refused {
        stale: bool,
    },
    /// An error that refuses.
    Bounced {
        stale: bool,
    },
    NeverSent {
        stale: bool,
        handed_back: bool,
    },
    MaybeSent {
        stale: bool,
    },
    /// The same input fails in the same way, before or after it was sent.
    Permanent {
        stale: bool,
        sent: bool,
    },
    /// Nothing that the protocol knows.
    Unrecognised,
}

/// What is true of an attempt, whoever knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is under way.
    Open,
    Answered,
    Unexecuted,
    MayHaveExecuted,
}

impl End {
    pub(crate) fn fate(self) -> Fate {
        match self {
            Self::Answered { .. } | Self::Denied { .. } => Fate::Answered,
            Self::Refused { .. }
            | Self::Bounced { .. }
            | Self::NeverSent { .. }
            | Self::Permanent { sent: false, .. } => Fate::Unexecuted,
            Self::MaybeSent { .. } | Self::Permanent { sent: true, .. } | Self::Unrecognised => Fate::MayHaveExecuted,
        }
    }

    /// What it proves; nothing where an answer is an answer like any other.
    pub(crate) fn verdict(self) -> Option<Verdict> {
        Some(match self {
            Self::Answered { stale: false } => return None,
            Self::Answered { stale } | Self::Denied { stale } => stale_if(stale, Verdict::answered()),
            Self::Refused { stale } | Self::Bounced { stale } => stale_if(stale, Verdict::refused()),
            Self::NeverSent { stale, .. } => stale_if(stale, Verdict::never_sent()),
            Self::MaybeSent { stale } => stale_if(stale, Verdict::maybe_sent()),
            Self::Permanent { stale, sent: false } => stale_if(stale, Verdict::never_sent().permanent()),
            Self::Permanent { stale, sent: true } => stale_if(stale, Verdict::maybe_sent().permanent()),
            Self::Unrecognised => Verdict::unrecognised(),
        })
    }

    /// Whether it is a response, and not an error.
    pub(crate) fn is_response(self) -> bool {
        matches!(self, Self::Answered { .. } | Self::Refused { .. })
    }

    pub(crate) fn hands_back(self) -> bool {
        matches!(self, Self::NeverSent { handed_back: true, .. })
    }

    pub(crate) fn outcome(self, attempt: u32, call: Call) -> Result<Reply, BoxError> {
        if self.is_response() {
            Ok(Reply { attempt, end: self })
        } else if self.hands_back() {
            let verdict = self.verdict().expect("it is no plain answer");
            Err(Failure::new(verdict, Fault { attempt, end: self }).with_unsent(call).into())
        } else {
            Err(Fault { attempt, end: self }.into())
        }
    }
}

fn stale_if(stale: bool, verdict: Verdict) -> Verdict {
    if stale { verdict.stale() } else { verdict }
}

/// A response, of one attempt alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) attempt: u32,
    pub(crate) end: End,
}

/// An error, of one attempt alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("attempt {attempt} ended by {end:?}")]
pub(crate) struct Fault {
    pub(crate) attempt: u32,
    pub(crate) end: End,
}

/// Why a resolve failed: each has an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("resolve {number} failed")]
pub(crate) struct LookUpFailed {
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol;

impl Classify<Reply> for Protocol {
    fn response(&self, response: &Reply) -> Option<Verdict> {
        response.end.verdict()
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        let fault = sources(error).find_map(|link| link.downcast_ref::<Fault>());
        fault.and_then(|fault| fault.end.verdict()).unwrap_or(Verdict::unrecognised())
    }
}

/// Whether a request with this delivery provably did not execute.
pub(crate) fn is_unexecuted(delivery: Option<Delivery>) -> bool {
    delivery.is_some_and(Delivery::is_send_side)
}
