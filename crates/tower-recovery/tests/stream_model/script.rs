//! Scripts: what a test does to one stream, step by step, as data.

use tower_recovery::StreamMode;

use crate::{faults::Kind, protocol::Method};

/// A whole test.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
    pub(crate) finish: Finish,
    /// The seed of the jitter.
    pub(crate) chance: u64,
}

/// The layer, and the request that it is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) admission: Admission,
    /// Whether a retry layer stands below, which repeats what provably did not execute.
    pub(crate) retries: bool,
    pub(crate) mode: StreamMode,
    pub(crate) max_replacements: u32,
    pub(crate) probed: bool,
    /// Whether the probe takes longer than the pause between probes.
    pub(crate) slow_probe: bool,
    /// Whether a stream may be complete without a terminal item.
    pub(crate) counts: bool,
    pub(crate) method: Method,
    pub(crate) silent: Option<bool>,
    pub(crate) copyable: bool,
    pub(crate) resumable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Whole { limit: usize },
    UntilFirstItem,
    Marked,
    Resumed,
}

/// One step. One that finds nothing to act on does nothing, so that shrinking may leave out any.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// What the attempt under way is answered with, or the next one, if none is under way.
    Head(Opening),
    /// What its stream gives, now or once it is opened.
    Feed(Feed),
    /// Each later attempt is answered so at once, or when it is told to be.
    Backend(Option<Opening>),
    /// How further instances answer `poll_ready` from now on.
    Instances(Readiness),
    /// The probe under way ends.
    Probe(Health),
    /// Each later probe ends so at once, or when it is told to.
    Prober(Option<Health>),
    /// Time passes.
    Advance(Amount),
    /// The reader does not poll from now on, whatever wakes it.
    Hold,
    Release,
    /// The reader polls once, woken or not, held or not.
    Poll,
    /// The reader goes away.
    Drop,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// With a stream, which is the rest of one if that was asked for and is known here.
    Stream {
        resumes: bool,
    },
    /// With a stream that is a verdict as a whole.
    Verdict,
    /// With a failure that has a response in it.
    RefusedBy,
    Fails {
        kind: Kind,
        handed_back: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    KeepAlive,
    Progress,
    /// A part of the result that commits to nothing.
    Preamble {
        long: bool,
    },
    Content,
    /// A part of the result that leaves one out.
    Skipping,
    Terminal,
    Verdict,
    /// Many signs of life at once.
    Flood,
    End,
    Breaks {
        kind: Kind,
        known: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Pending,
    Fails,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Healthy,
    Refused,
    Error,
    Panic,
}

/// How much time passes, or up to the next moment at which something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Millis(u32),
    JustBeforeTheNext,
    ToTheNext,
    JustAfterTheNext,
}

/// What happens after the last step, until nothing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Every attempt is served to its end.
    Serve,
    /// Nothing ever comes again.
    Starve,
    /// The reader goes away.
    Leave,
}
