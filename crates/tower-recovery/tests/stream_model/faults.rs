//! The ways in which an attempt fails, and what each of them proves.

use std::{
    future::{Future, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use tower::{BoxError, Layer, Service, service_fn};
use tower_recovery::{
    CallTiming, Delivery, Failure, GiveUp, NamedRules, ReadMethods, ReadOnlyRetryLayer, RetryBudget, Verdict,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NeverSent,
    Refused,
    MaybeSent,
    /// A verdict that comes as an error.
    Answered,
    /// The same input fails in the same way, before or after it was sent.
    Permanent {
        sent: bool,
    },
    /// Nothing that the protocol knows.
    Unrecognised,
    /// A layer below has spent its attempts, or its budget.
    Spent {
        by: By,
        sent: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Attempts,
    Budget,
}

/// An error, of one sending alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sending {send} failed by {kind:?}")]
pub(crate) struct Fault {
    pub(crate) send: u32,
    pub(crate) kind: Kind,
}

impl Kind {
    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::NeverSent | Self::Spent { sent: false, .. } => Verdict::never_sent(),
            Self::Refused => Verdict::refused(),
            Self::MaybeSent | Self::Spent { sent: true, .. } => Verdict::maybe_sent(),
            Self::Answered => Verdict::answered(),
            Self::Permanent { sent: false } => Verdict::never_sent().permanent(),
            Self::Permanent { sent: true } => Verdict::maybe_sent().permanent(),
            Self::Unrecognised => Verdict::unrecognised(),
        }
    }

    /// Whether a request that failed so may have executed.
    pub(crate) fn may_have_run(self) -> bool {
        !self.verdict().delivery().is_some_and(Delivery::is_send_side)
    }

    pub(crate) fn gave_up(self) -> Option<GiveUp> {
        match self {
            Self::Spent { by: By::Attempts, .. } => Some(GiveUp::Attempts),
            Self::Spent { by: By::Budget, .. } => Some(GiveUp::Budget),
            _ => None,
        }
    }
}

impl Fault {
    pub(crate) fn verdict(&self) -> Verdict {
        self.kind.verdict()
    }

    /// The failure, as the layer below gives it.
    pub(crate) fn failure(self) -> Failure {
        match self.kind {
            Kind::Spent { by, .. } => self.spent(by),
            _ => Failure::new(self.verdict(), self),
        }
    }

    /// The error as a stream gives it: known already, or to be recognised by the rules.
    pub(crate) fn error(self, known: bool) -> BoxError {
        // Only a layer can say that it has spent something.
        if known || self.kind.gave_up().is_some() { self.failure().into() } else { self.into() }
    }

    /// Only a retry layer can say that it has spent something: so one does.
    fn spent(self, by: By) -> Failure {
        let attempts = if by == By::Attempts { 1 } else { 2 };
        let rules = NamedRules::new(|(): &()| "read", ReadMethods::new().read("read")).copied_by(|()| Some(()));
        let timing = CallTiming::builder().attempts(attempts).build().expect("it is valid");
        let retry = ReadOnlyRetryLayer::new(rules).timing(timing).budget(Nothing);
        let fails = service_fn(move |(): ()| ready(Err::<(), _>(Failure::new(self.verdict(), self))));
        let call = pin!(retry.layer(fails).call(()));
        match call.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(failure)) => failure,
            outcome => unreachable!("it has nothing to spend: {outcome:?}"),
        }
    }
}

/// A budget without a permit.
#[derive(Debug)]
struct Nothing;

impl RetryBudget for Nothing {
    fn deposit(&self, _: u32) {}

    fn withdraw(&self) -> bool {
        false
    }

    fn give_back(&self) {}
}
