//! What is seen of the layer from outside, in the order in which it happens.

use std::panic::resume_unwind;

use tower_recovery::{
    Delivery, Failure, GiveUp, NotReady, RecoveryEvent,
    stream_replacement::{PreservedBecause, ReplacementBasis, StreamBroken, StreamEnd, StreamReport, WholeTooLong},
};

use crate::{
    faults::{Fault, Kind},
    protocol::{Call, Head, Item},
    script::{Health, Opening},
};

#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// An instance is asked whether it is ready, for the first time since its last call.
    Asked,
    Ready,
    NotReady,
    /// The request is copied, here or below.
    Copied,
    /// The layer sends an attempt down.
    Called {
        silent: Option<bool>,
        from: Option<u32>,
    },
    /// The future of that attempt has given this.
    CallEnded(Result<Head, Seen>),
    /// It is dropped before.
    CallDropped,
    /// The request is with the backend. Without a retry layer in between each attempt is one sending.
    Sent {
        send: u32,
    },
    SendEnded {
        send: u32,
        opening: Opening,
    },
    SendDropped {
        send: u32,
    },
    /// The stream of this sending has given something.
    Gave {
        send: u32,
        what: Gave,
    },
    StreamDropped {
        send: u32,
    },
    ProbeCalled {
        round: u32,
    },
    ProbeEnded(Health),
    ProbeDropped,
    /// The layer tells its observer.
    Said {
        attempt: u32,
        word: Word,
        untaken: Untaken,
    },
    /// What its reader gets.
    Got(Out),
    /// Nothing yet.
    Pending,
    /// The reader goes away.
    Left,
}

/// What is there, and was not taken yet, of the newest sending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Untaken {
    pub(crate) answer: bool,
    pub(crate) item: bool,
}

/// What the layer can see of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) delivery: Option<Delivery>,
    pub(crate) permanent: bool,
    /// How many attempts a layer below has made.
    pub(crate) attempts: u32,
    pub(crate) gave_up: Option<GiveUp>,
    pub(crate) unsent: bool,
    pub(crate) not_ready: bool,
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gave {
    Item(Item),
    End,
    Error(Kind),
}

/// What the layer says, as far as anything follows from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    Started {
        silenced: bool,
    },
    ProbeStarted {
        round: u32,
    },
    ProbeSucceeded,
    ProbeFailed,
    ProbeCancelled,
    Preserved(PreservedBecause),
    GraceStarted,
    Abandoned {
        items: u64,
        bytes: u64,
    },
    Exhausted,
    Unreachable,
    Proposed {
        basis: ReplacementBasis,
        twice: bool,
    },
    /// How long the pause is comes with the proposal.
    Pause(std::time::Duration),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Out {
    Opened { head: Head, report: Report },
    Item(Item),
    Restarted { head: Head, report: Report },
    Whole { head: Head, items: Vec<Item>, report: Report },
    Failed(Outcome),
    End,
}

/// A failure, as far as it can be told from outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) delivery: Option<Delivery>,
    pub(crate) permanent: bool,
    pub(crate) attempts: u32,
    pub(crate) gave_up: Option<GiveUp>,
    pub(crate) unsent: bool,
    pub(crate) broken: Option<(StreamEnd, Report)>,
    pub(crate) partial: Option<Vec<Item>>,
    pub(crate) fault: Option<Fault>,
    pub(crate) not_ready: bool,
    /// Why the rest could not be asked for, or was none, is told.
    pub(crate) not_resumed: bool,
    pub(crate) too_long: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) attempts: u32,
    /// Attempt, basis, items, bytes.
    pub(crate) discarded: Vec<(u32, ReplacementBasis, u64, u64)>,
}

impl From<&StreamReport> for Report {
    fn from(report: &StreamReport) -> Self {
        let discarded = report.discarded.iter().map(|one| (one.attempt, one.basis, one.items, one.bytes));
        Self { attempts: report.attempts, discarded: discarded.collect() }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        let broken = failure.find::<StreamBroken>();
        Self {
            delivery: failure.delivery(),
            permanent: failure.is_permanent(),
            attempts: failure.attempts(),
            gave_up: failure.gave_up(),
            unsent: failure.take_unsent::<Call>().is_some(),
            partial: broken.and_then(StreamBroken::take_partial),
            broken: broken.map(|broken| (broken.reason, Report::from(&broken.report))),
            fault: failure.find().copied(),
            not_ready: failure.find::<NotReady>().is_some(),
            not_resumed: broken.and_then(StreamBroken::resume_refused).is_some(),
            too_long: failure.find::<WholeTooLong>().is_some(),
        }
    }
}

impl Word {
    /// The attempt that it is said of, and what is said.
    pub(crate) fn of(event: &RecoveryEvent) -> Vec<(u32, Self)> {
        let (attempt, word) = match event {
            RecoveryEvent::PhysicalAttemptStarted { attempt, silenced, .. } => {
                (attempt, Self::Started { silenced: *silenced })
            }
            RecoveryEvent::RecoveryProbeStarted { attempt, round, .. } => {
                (attempt, Self::ProbeStarted { round: *round })
            }
            RecoveryEvent::RecoveryProbeSucceeded { attempt, .. } => (attempt, Self::ProbeSucceeded),
            RecoveryEvent::RecoveryProbeFailed { attempt, .. } => (attempt, Self::ProbeFailed),
            RecoveryEvent::RecoveryProbeCancelled { attempt, .. } => (attempt, Self::ProbeCancelled),
            RecoveryEvent::RecoveryOriginalPreserved { attempt, reason, .. } => (attempt, Self::Preserved(*reason)),
            RecoveryEvent::RecoveryGraceStarted { attempt, .. } => (attempt, Self::GraceStarted),
            RecoveryEvent::PhysicalAttemptAbandoned { attempt, items, bytes, .. } => {
                (attempt, Self::Abandoned { items: *items, bytes: *bytes })
            }
            RecoveryEvent::RecoveryExhausted { attempts, .. } => (attempts, Self::Exhausted),
            RecoveryEvent::RecoveryProviderUnreachable { attempts, .. } => (attempts, Self::Unreachable),
            RecoveryEvent::RecoveryReplacementProposed {
                attempt,
                basis,
                pause,
                duplicate_server_work_possible: twice,
                ..
            } => {
                let proposed = Self::Proposed { basis: *basis, twice: *twice };
                return vec![(*attempt, proposed), (*attempt, Self::Pause(*pause))];
            }
            _ => return Vec::new(),
        };
        vec![(*attempt, word)]
    }
}

/// Ends the script: a law is broken. The text begins with the law's number.
///
/// Not `panic!`, whose hook would print each of the many failures on the way to the shortest script.
pub(crate) fn broken(law: &str, what: impl std::fmt::Display) -> ! {
    resume_unwind(Box::new(format!("{law}: {what}")));
}
