//! All that can happen to a stream.

use super::super::{Probed, Sign};
use crate::Verdict;

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Sign(Sign),
    Probed(Probed),
    JustBeforeTheDeadline,
    TheDeadline,
    FarBeyond,
    /// What is due is asked late: other events may come first.
    FarBeyondUnasked,
    Asked,
    Failed(Failure),
    EndedIncomplete,
    Committed,
    Settled,
    /// The first attempt is waited for, or the next one begins.
    Started,
}

/// What an attempt failed with, and whether that forbids another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) verdict: Verdict,
    pub(super) is_spent: bool,
    pub(super) is_final: bool,
}

const fn failure(verdict: Verdict, is_spent: bool, is_final: bool) -> Failure {
    Failure { verdict, is_spent, is_final }
}

const DROPPED: Failure = failure(Verdict::maybe_sent(), false, false);

pub(super) const EVENTS: [Event; 14] = [
    Event::Sign(Sign::KeepAlive),
    Event::Sign(Sign::Content),
    Event::Probed(Probed::Healthy),
    Event::Probed(Probed::Unanswered),
    Event::JustBeforeTheDeadline,
    Event::TheDeadline,
    Event::FarBeyond,
    Event::FarBeyondUnasked,
    Event::Asked,
    Event::Failed(DROPPED),
    Event::EndedIncomplete,
    Event::Committed,
    Event::Settled,
    Event::Started,
];

/// Beside the one that is followed. They are looked at in every state.
pub(super) const OTHER_FAILURES: [Failure; 9] = [
    failure(Verdict::never_sent(), false, false),
    failure(Verdict::refused(), false, false),
    failure(Verdict::maybe_sent().stale(), false, false),
    failure(Verdict::answered(), false, true),
    failure(Verdict::never_sent().permanent(), false, true),
    failure(Verdict::maybe_sent().permanent(), false, true),
    failure(Verdict::maybe_sent(), true, true),
    failure(Verdict::unrecognised(), false, true),
    failure(Verdict::unrecognised().stale(), false, true),
];
