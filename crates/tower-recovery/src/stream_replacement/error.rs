//! What ends a stream that is not complete.

use std::fmt;

use tower::BoxError;

use super::{ResumeRefused, StreamReport};
use crate::failure::Slot;

/// A stream ended before it was complete, and was not replaced, or not any more.
///
/// It is the [cause](crate::Failure::cause) of the [`Failure`](crate::Failure) that leaves the layer; what broke the last attempt is its source.
#[derive(thiserror::Error)]
#[error("the stream {reason} (attempt {})", .report.attempts)]
#[non_exhaustive]
pub struct StreamBroken {
    /// What happened to the last attempt.
    pub reason: StreamEnd,
    /// What became of all of them.
    pub report: StreamReport,
    partial: Slot,
    refused: Option<ResumeRefused>,
    source: Option<BoxError>,
}

/// How the last attempt of a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StreamEnd {
    /// Its transport failed.
    Dropped,
    /// It ended by itself before it was complete.
    Incomplete,
    /// It was silent, its route answered a health probe, and nothing came through the grace.
    Silent,
    /// It was silent, and three health probes in a row got no answer.
    Unreachable,
    /// What came in its place was not the rest of it.
    NotResumed,
}

impl StreamBroken {
    pub(super) fn new(
        reason: StreamEnd,
        report: StreamReport,
        refused: Option<ResumeRefused>,
        source: Option<BoxError>,
    ) -> Self {
        Self { reason, report, partial: Slot::empty(), refused, source }
    }

    /// Of a stream that was to be handed out whole: what the last attempt had given, as a `Vec` of its items. It is **not** the result. The second call gets
    /// `None`, as does any where nothing was held back.
    #[must_use]
    pub fn take_partial<Item: 'static>(&self) -> Option<Vec<Item>> {
        self.partial.take()
    }

    /// Why the rest of the stream could not be asked for, or what came was not the rest, where that ended it.
    #[must_use]
    pub fn resume_refused(&self) -> Option<&ResumeRefused> {
        self.refused.as_ref()
    }

    pub(super) fn keep_partial<Item: Send + 'static>(&self, items: Vec<Item>) {
        self.partial.fill(items);
    }
}

impl fmt::Debug for StreamBroken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamBroken")
            .field("reason", &self.reason)
            .field("report", &self.report)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for StreamEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Dropped => "was dropped",
            Self::Incomplete => "ended before it was complete",
            Self::Silent => "fell silent",
            Self::Unreachable => "fell silent, and its route does not answer",
            Self::NotResumed => "could not be resumed",
        })
    }
}

/// A stream that was to be handed out whole held more than may be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream holds more than the {limit} bytes that may be held back")]
#[non_exhaustive]
pub struct WholeTooLong {
    /// The bound, in bytes.
    pub limit: usize,
}
