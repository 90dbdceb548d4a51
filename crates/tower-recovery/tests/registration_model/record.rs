//! What was seen, in the order in which it was seen.

use std::time::Duration;

/// One thing that happened, and when since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Duration,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Began(Kind),
    /// Also where it was dropped: then it has no end of its own.
    Ended(End),
    /// The process was told that it is disconnected.
    Disconnected,
    /// The process was told that it is not registered.
    EvictionSeen,
    /// From here on the registry works.
    ScriptEnded,
    /// The process holds a connection no more.
    Let {
        connection: u32,
    },
}

/// A step, and the connection that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    LookUp { connection: Option<u32> },
    Close { connection: u32 },
    Connect,
    Register { connection: u32 },
}

/// How a step ended, as the process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    LookUp(Answer),
    Close { timed_out: bool },
    Connect(Outcome),
    Register(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ours,
    Missing,
    Another,
    Error,
    TimedOut { busy: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    FailedForGood,
}
