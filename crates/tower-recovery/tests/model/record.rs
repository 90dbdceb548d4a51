//! What is seen of the stack from outside, in the order in which it happens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tower_recovery::{
    AttemptTimedOut, DeadlineExceeded, Delivery, Failure, GiveUp, NotReady, RecoveryEvent, ResolveError, Verdict,
};

use crate::protocol::{Fault, LookUpFailed, Reply};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The retry layer, or its caller, asks an instance below whether it is ready, for the first time since its last call.
    Asked,
    /// The retry layer sends an attempt down.
    Called {
        call: u32,
        silent: Option<bool>,
    },
    /// A handle is called: the request is with the backend. Handles have the number of the resolve that gave them.
    Sent {
        call: u32,
        silent: Option<bool>,
        handle: u32,
        attempt: u32,
    },
    /// The future of an attempt is dropped before its end.
    AttemptDropped {
        call: u32,
        attempt: u32,
    },
    /// The resolver is called.
    Resolve {
        number: u32,
    },
    /// The future of a resolve is dropped before its end.
    ResolveDropped {
        number: u32,
    },
    Installed {
        generation: u64,
        identity: u32,
        previous: Option<u32>,
    },
    ResolveFailed,
    Evicted {
        generation: u64,
        identity: u32,
    },
    Failed {
        attempt: u32,
        delivery: Option<Delivery>,
        generation: Option<u64>,
    },
    Repeated {
        attempt: u32,
        silenced: bool,
        free: bool,
    },
    GivenUp {
        attempts: u32,
        delivery: Option<Delivery>,
        reason: GiveUp,
    },
    /// A call, or a refresh, has come to its end.
    Ended {
        task: u32,
        outcome: Outcome,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Reply(Reply),
    Failure { verdict: Verdict, attempts: u32, exhausted: bool, cause: Cause },
    Refreshed { generation: u64 },
    NotRefreshed(Cause),
}

/// The error that a failure gives as its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Fault(Fault),
    TimedOut {
        handed_over: bool,
    },
    NotReady,
    LookUpFailed(LookUpFailed),
    LookUpTimedOut,
    LookUpPanicked,
    /// The deadline, and what was the last failure before it.
    Deadline {
        after_a_failure: bool,
    },
    Unknown,
}

impl Outcome {
    pub(crate) fn of(result: Result<Reply, Failure>) -> Self {
        match result {
            Ok(reply) => Self::Reply(reply),
            Err(failure) => Self::Failure {
                verdict: failure.verdict(),
                attempts: failure.attempts(),
                exhausted: failure.is_exhausted(),
                cause: Cause::of(&failure),
            },
        }
    }
}

impl Cause {
    fn of(failure: &Failure) -> Self {
        if let Some(deadline) = failure.find::<DeadlineExceeded>() {
            Self::Deadline { after_a_failure: deadline.last.is_some() }
        } else if let Some(fault) = failure.find::<Fault>() {
            Self::Fault(*fault)
        } else if let Some(timed_out) = failure.find::<AttemptTimedOut>() {
            Self::TimedOut { handed_over: timed_out.handed_over }
        } else if failure.find::<NotReady>().is_some() {
            Self::NotReady
        } else {
            failure.find().map_or(Self::Unknown, Self::of_resolve)
        }
    }

    pub(crate) fn of_resolve(error: &ResolveError) -> Self {
        match error {
            ResolveError::Failed(error) => error.downcast_ref().copied().map_or(Self::Unknown, Self::LookUpFailed),
            ResolveError::TimedOut(_) => Self::LookUpTimedOut,
            ResolveError::Panicked => Self::LookUpPanicked,
            _ => Self::Unknown,
        }
    }
}

impl Event {
    fn of(event: &RecoveryEvent) -> Option<Self> {
        Some(match event {
            RecoveryEvent::HandleResolved { identity, generation, previous, .. } => Self::Installed {
                generation: generation.get(),
                identity: number(identity.as_str()),
                previous: previous.as_ref().map(|previous| number(previous.as_str())),
            },
            RecoveryEvent::ResolveFailed { .. } => Self::ResolveFailed,
            RecoveryEvent::HandleEvicted { identity, generation, .. } => {
                Self::Evicted { generation: generation.get(), identity: number(identity.as_str()) }
            }
            RecoveryEvent::AttemptFailed { attempt, delivery, generation, .. } => Self::Failed {
                attempt: *attempt,
                delivery: *delivery,
                generation: generation.map(|generation| generation.get()),
            },
            RecoveryEvent::CallRepeated { attempt, silenced, free, .. } => {
                Self::Repeated { attempt: *attempt, silenced: *silenced, free: *free }
            }
            RecoveryEvent::CallGivenUp { attempts, delivery, reason, .. } => {
                Self::GivenUp { attempts: *attempts, delivery: *delivery, reason: *reason }
            }
            _ => return None,
        })
    }
}

fn number(identity: &str) -> u32 {
    identity.parse().expect("the registry numbers its instances")
}

/// Where everybody writes what happens. Clones write to the same place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<Event>>>);

impl Record {
    pub(crate) fn write(&self, event: Event) {
        lock(&self.0).push(event);
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.0))
    }

    /// Writes down what the layers report.
    pub(crate) fn observer(&self) -> impl Fn(&RecoveryEvent) + Send + Sync + 'static {
        let record = self.clone();
        move |event| Event::of(event).into_iter().for_each(|event| record.write(event))
    }
}

/// Panics are part of the scripts, and leave nothing half changed.
pub(crate) fn lock<Value>(mutex: &Mutex<Value>) -> MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
