//! What the decisions about a stream are told, and what they order.

use std::fmt;

use crate::stream_replacement::{ReplacementBasis, StreamEnd};
#[cfg(doc)]
use crate::{StreamMode, stream_replacement::supervision::Supervision};

/// A sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::stream_replacement) enum Sign {
    /// Somebody is there.
    KeepAlive,
    /// Work goes on.
    Content,
}

/// What became of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream_replacement) enum Probed {
    Healthy,
    /// No answer, or none that is real.
    Unanswered,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream_replacement) enum Order {
    /// Sends a probe.
    StartProbe { round: u32 },
    /// Drops the probe: there is a sign of life.
    CancelProbe,
    /// Drops the probe, which had its time, and counts it as [`Probed::Unanswered`].
    TimeOutProbe,
    /// Says that the silent attempt is left alone.
    Preserve(PreservedBecause),
    /// Says that the grace has begun.
    StartGrace,
    /// Drops the attempt and starts another one, if there is a request for it: then [`Supervision::replaced`] is to be told.
    Replace(ReplacementBasis),
    /// Drops the attempt and ends the stream.
    End(StreamEnd, NotReplaced),
}

/// Why a silent attempt is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum PreservedBecause {
    /// The mode is [`Preserve`](StreamMode::Preserve).
    Mode,
    /// There is no probe that could say whether the route works.
    NoProbe,
}

impl fmt::Display for PreservedBecause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Mode => "the policy preserves it",
            Self::NoProbe => "there is no probe",
        })
    }
}

/// Why a stream that ended is not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream_replacement) enum NotReplaced {
    /// What ended it forbids it.
    Final,
    /// The policy does.
    Mode,
    /// What was handed out cannot be taken back.
    Committed,
    /// The replacements are spent.
    Spent,
}
