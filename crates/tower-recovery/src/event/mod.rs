//! What the layers do, for whoever watches: as values to an [`Observer`], and through `tracing`.

mod observer;
mod text;
mod trace;

use std::{sync::Arc, time::Duration};

pub use self::observer::Observer;
pub(crate) use self::{observer::Reporter, text::text};
use crate::{
    Delivery, Generation, Identity,
    registration::RebuildStep,
    stream_replacement::{PreservedBecause, ReplacementBasis},
};

/// Something that a layer did on its failure path, or that it says of a stream.
///
/// It never holds a request, a response or a credential. With the feature `serde` it is serialised with its name under `event`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "event", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RecoveryEvent {
    /// A resolve gave a new handle.
    HandleResolved {
        /// The name of the cache.
        name: Arc<str>,
        /// Who serves now.
        identity: Identity,
        /// The new generation.
        generation: Generation,
        /// Who served before, if anybody did.
        previous: Option<Identity>,
    },
    /// A resolve failed.
    ResolveFailed {
        /// The name of the cache.
        name: Arc<str>,
        /// Why, cut to 256 characters.
        cause: String,
    },
    /// A failure indicted the handle.
    HandleEvicted {
        /// The name of the cache.
        name: Arc<str>,
        /// Who was evicted.
        identity: Identity,
        /// The generation that ended.
        generation: Generation,
    },
    /// A read has waited for long, and the registry is asked whether it still names the handle's instance.
    HandleSuspected {
        /// The name of the cache.
        name: Arc<str>,
        /// Who does not answer.
        identity: Identity,
        /// The generation that is live.
        generation: Generation,
    },
    /// An attempt failed.
    AttemptFailed {
        /// The name of the retry layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// What the failure proves; `None` where nothing recognised it.
        delivery: Option<Delivery>,
        /// The generation of the handle it ran on, where one was attached.
        generation: Option<Generation>,
        /// Why, cut to 256 characters.
        cause: String,
    },
    /// A call is sent again.
    CallRepeated {
        /// The name of the retry layer.
        route: Arc<str>,
        /// The method that is called.
        method: String,
        /// Which attempt of its call, from 2.
        attempt: u32,
        /// Whether the request was asked to be silent.
        silenced: bool,
        /// Whether it cost no permit, because another instance serves now, or another handle whose predecessor gave the request back.
        free: bool,
    },
    /// A call that failed is not sent again, although its bounds alone forbid it.
    CallGivenUp {
        /// The name of the retry layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// How many attempts were spent.
        attempts: u32,
        /// What they prove together.
        delivery: Option<Delivery>,
        /// Which bound it was.
        reason: GiveUp,
    },
    /// An attempt of a stream begins.
    PhysicalAttemptStarted {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that is called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// Whether the request was asked to be silent.
        silenced: bool,
    },
    /// An attempt of a stream failed, or ended before it was complete.
    PhysicalAttemptFailed {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// What the failure proves; `None` where nothing recognised it.
        delivery: Option<Delivery>,
        /// How many items of content it had given.
        items: u64,
        /// How many bytes they held.
        bytes: u64,
        /// Why, cut to 256 characters.
        cause: String,
    },
    /// A stream is complete, or has ended with a verdict of the other side.
    PhysicalAttemptSucceeded {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// How many items of content it gave.
        items: u64,
        /// How many bytes they held.
        bytes: u64,
    },
    /// A silent attempt is given up.
    PhysicalAttemptAbandoned {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// How many items of content it had given.
        items: u64,
        /// How many bytes they held.
        bytes: u64,
    },
    /// There are signs of life of a stream. Said at most every 30 s.
    CallActivity {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// How many items of content it has given.
        items: u64,
    },
    /// There is no sign of life of a stream. Said every 120 s.
    CallWaiting {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// For how long.
        silent_for: Duration,
    },
    /// A stream is silent, and its route is asked whether it works.
    RecoveryProbeStarted {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// Which probe of this silence, from 1.
        round: u32,
    },
    /// The route gave a real answer.
    RecoveryProbeSucceeded {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
    },
    /// The route gave no answer, or none that is real.
    RecoveryProbeFailed {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// Why, cut to 256 characters.
        cause: String,
    },
    /// A probe is dropped: the stream gave a sign of life, or ended.
    RecoveryProbeCancelled {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
    },
    /// A silent attempt is left alone.
    RecoveryOriginalPreserved {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// Why.
        reason: PreservedBecause,
    },
    /// The route of a silent stream works, and the stream is waited for a last time.
    RecoveryGraceStarted {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
    },
    /// A stream would be replaced, but its replacements are spent.
    RecoveryExhausted {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// How many attempts were spent.
        attempts: u32,
    },
    /// A stream is silent, and three probes in a row got no answer.
    RecoveryProviderUnreachable {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// How many attempts were spent.
        attempts: u32,
    },
    /// An attempt is closed, and another one will take its place.
    RecoveryReplacementProposed {
        /// The name of the replacement layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt is closed, from 1.
        attempt: u32,
        /// Why.
        basis: ReplacementBasis,
        /// After which time the next one starts.
        pause: Duration,
        /// Whether the other side may do the work twice: it may unless every attempt so far provably did not reach it.
        duplicate_server_work_possible: bool,
    },
    /// The registry does not serve this process any more, or gives no answer: its registration is going to be rebuilt. Said once an episode.
    RegistrationLost {
        /// The name of the registration.
        name: Arc<str>,
        /// What the look-up showed, cut to 256 characters.
        cause: String,
    },
    /// A rebuild begins: the old connection is going to be closed.
    RegistrationRebuildStarted {
        /// The name of the registration.
        name: Arc<str>,
        /// Which rebuild of this probe, from 1.
        rebuild: u64,
    },
    /// A step of a rebuild failed.
    RegistrationStepFailed {
        /// The name of the registration.
        name: Arc<str>,
        /// Which step.
        step: RebuildStep,
        /// Why, cut to 256 characters.
        cause: String,
        /// Whether it is not tried again before the next look-up, since it would fail in the same way.
        permanent: bool,
    },
    /// The steps of a rebuild are done, and the registry was asked whether that helped. Where it names somebody else, that is said instead.
    RegistrationRebuilt {
        /// The name of the registration.
        name: Arc<str>,
        /// Whether the registry serves this process now.
        confirmed: bool,
    },
    /// The registry serves this process again; or for the first time, where its probe began without a connection.
    RegistrationRecovered {
        /// The name of the registration.
        name: Arc<str>,
        /// How long after it was seen to be lost, or after the probe was built.
        after: Duration,
    },
    /// Somebody else serves under the id of this process, which will not take it from them. Said once.
    RegistrationSuperseded {
        /// The name of the registration.
        name: Arc<str>,
        /// Who.
        by: Identity,
    },
}

/// Which bound ended a call that might have been sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GiveUp {
    /// The attempts of the call, or of a retry layer below.
    Attempts,
    /// The budget had no permit.
    Budget,
    /// The deadline has passed, or would before the next attempt.
    Deadline,
    /// The request can not be copied and was not handed back.
    NoRequest,
    /// The copy that was kept can not give the whole request any more: its body was longer than what is kept of it.
    IncompleteCopy,
}

impl GiveUp {
    /// Whether it is the bounds of the call that ended it, so that an outer retry must stop too. Without a request to send here, an outer layer may
    /// still have one.
    pub(crate) fn is_exhaustion(self) -> bool {
        match self {
            Self::Attempts | Self::Budget | Self::Deadline => true,
            Self::NoRequest | Self::IncompleteCopy => false,
        }
    }
}
