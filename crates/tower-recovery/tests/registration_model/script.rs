//! Scripts: what a test does to the registry and to the process, as data that proptest makes and shrinks.

/// A whole test.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) setup: Setup,
    /// Each after so many milliseconds.
    pub(crate) steps: Vec<(u32, Step)>,
    /// The seed of the jitter.
    pub(crate) chance: u64,
}

/// How the probe is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// The process is registered when the probe begins.
    pub(crate) connected: bool,
    pub(crate) unanswered_look_ups: u32,
    pub(crate) busy_look_ups: u32,
}

/// One step. Every part of a script is a script too: what finds nothing to act on does nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The next look-ups that have no end yet end so, each after so many milliseconds.
    LookUps {
        number: u8,
        takes: u16,
        end: LookUp,
    },
    /// The next close that has no end yet ends so.
    Close {
        takes: u16,
        end: Close,
    },
    /// So do the next ones that connect.
    Connects {
        number: u8,
        takes: u16,
        end: Connect,
    },
    /// And those that register.
    Registers {
        number: u8,
        takes: u16,
        end: Register,
    },
    /// The registry forgets the process. Its socket stays open.
    Evicted,
    /// The transport ends, and the registry sees it.
    ConnectionEnds,
    /// What was forgotten is remembered, by the transport or by an operator.
    RepairsItself,
    /// The registry clears away connections that nobody holds.
    Reaped,
    /// Another process serves under the id.
    AnotherComes,
    AnotherLeaves,
    /// The hook of the connection is called so many times.
    Disconnected {
        times: u8,
    },
    /// So many calls are told that the process is not registered.
    EvictionSeen {
        times: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// What is so when it ends.
    Truth,
    /// What was so when it began.
    Stale,
    /// This, whatever is so.
    Ours,
    Missing,
    Another,
    Error,
    Hangs,
    /// It hangs, and the connection hears of other work meanwhile.
    HangsBusy,
    Panics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Works,
    /// The connection is dropped in the end. The registry may not see that: the id stays taken until it is reaped.
    Hangs {
        seen: bool,
    },
    Panics {
        seen: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connect {
    Works,
    Refused,
    RefusedForGood,
    Hangs,
    /// The registry has a connection that the process never gets.
    HalfDone {
        hangs: bool,
    },
    Panics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    Works,
    Refused,
    RefusedForGood,
    Hangs,
    /// It is registered, and the answer is lost.
    HalfDone {
        hangs: bool,
    },
    /// It succeeds, and nothing is registered.
    Dropped,
    Panics,
}
