//! The account of the attempts of one stream.

use std::fmt;

/// What became of the attempts of one stream: how many there were, and what was received and thrown away. Who is billed by what a server sends finds here
/// what the result does not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamReport {
    /// How many attempts were started, one at the least once the call began.
    pub attempts: u32,
    /// The attempts that were given up, in order.
    pub discarded: Vec<DiscardedAttempt>,
}

/// An attempt that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscardedAttempt {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Why.
    pub basis: ReplacementBasis,
    /// How many items of content it had given. With [`Resumed`](super::Resumed) they were handed out all the same.
    pub items: u64,
    /// How many bytes they held, as the [rules](super::StreamRules::bytes) count them: of events that are their texts, and not what they took on the wire.
    pub bytes: u64,
}

/// Why a stream is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ReplacementBasis {
    /// It failed by its transport without a verdict of the other side, or ended before it was complete.
    RetryableTransportFailure,
    /// It was silent, its route answered a health probe, and nothing came through the grace after that.
    HealthySideCallAndNoActivityThroughGrace,
}

impl fmt::Display for ReplacementBasis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RetryableTransportFailure => "retryable transport failure",
            Self::HealthySideCallAndNoActivityThroughGrace => "healthy side call, and no activity through the grace",
        })
    }
}
