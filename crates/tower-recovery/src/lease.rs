//! The hold that one attempt has on the generation of its handle.

use std::{fmt, sync::Arc};

use crate::{
    Generation, Identity,
    handle_cache::ResolveError,
    suspicion::{
        tick::Tick,
        watch::{Current, Suspected},
    },
    sync::{AtomicBool, Ordering},
};

/// The hold that one attempt has on the generation of its handle.
///
/// [`Addressed`](crate::Addressed) carries it down to the leaf, so that a response body may keep it and indict the handle when it
/// breaks after every future has ended; a [`Failure`](crate::Failure) carries it out, so that a retry layer can ask whether
/// the handle has changed since. Cloning it counts one reference and allocates nothing.
#[derive(Clone)]
pub struct Lease(Arc<Leased>);

struct Leased {
    issuer: Arc<dyn Issuer>,
    generation: Generation,
    identity: Identity,
    /// Whether the issuer was told by this lease that the handle serves: once is enough.
    served: AtomicBool,
}

/// The cache behind a lease, whatever its handles are.
pub(crate) trait Issuer: Send + Sync {
    /// Evicts this generation if it is still the live one; tells whether it was.
    fn evict(&self, generation: Generation) -> bool;

    /// The handle of this generation has answered a call.
    fn has_served(&self, generation: Generation);

    /// Waits for the handle that is live, resolving if there is none, and names it.
    fn current(self: Arc<Self>) -> Current;

    /// Has the registry asked beside the handle of this generation, which does not answer, for a read that was due at this tick.
    fn suspect(self: Arc<Self>, generation: Generation, due: u64) -> Suspected;

    /// When a read has waited for long, if reads suspect at all.
    fn tick(&self) -> Option<&Arc<Tick>>;
}

/// What a retry layer learns about the handle on which an attempt failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Renewal {
    /// The same generation is still live: nobody indicted it.
    Unchanged,
    /// A new handle, and it points to the same instance as before.
    SameIdentity,
    /// A new handle to another instance.
    NewIdentity,
    /// There is no handle: the resolve failed.
    Failed(ResolveError),
}

impl Renewal {
    /// Whether there is another handle now than the one that failed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::SameIdentity | Self::NewIdentity)
    }
}

impl Lease {
    pub(crate) fn new(issuer: Arc<dyn Issuer>, generation: Generation, identity: Identity) -> Self {
        Self(Arc::new(Leased { issuer, generation, identity, served: AtomicBool::new(false) }))
    }

    /// The generation of the handle.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.0.generation
    }

    /// Who the handle points to.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// Evicts the handle, if it is still the live one, and tells whether it was.
    ///
    /// A late failure of an old generation changes nothing. Whoever uses the handle meanwhile goes on using it.
    pub fn indict(&self) -> bool {
        self.0.issuer.evict(self.0.generation)
    }

    /// The handle answered: finding it again after it was evicted will not count against the registry.
    pub(crate) fn has_served(&self) {
        if !self.0.served.load(Ordering::Relaxed) {
            self.0.served.store(true, Ordering::Relaxed);
            self.0.issuer.has_served(self.0.generation);
        }
    }

    fn current(&self) -> Current {
        Arc::clone(&self.0.issuer).current()
    }

    pub(crate) fn suspect(&self, due: u64) -> Suspected {
        Arc::clone(&self.0.issuer).suspect(self.0.generation, due)
    }

    pub(crate) fn tick(&self) -> Option<&Arc<Tick>> {
        self.0.issuer.tick()
    }

    /// Joins the resolve in flight, or starts it, and says what has become of the handle.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the resolve to those who wait beside it; the last one to leave ends it.
    pub async fn renew(&self) -> Renewal {
        match self.current().await {
            Ok((generation, _)) if generation == self.0.generation => Renewal::Unchanged,
            Ok((_, identity)) if identity == self.0.identity => Renewal::SameIdentity,
            Ok(_) => Renewal::NewIdentity,
            Err(error) => Renewal::Failed(error),
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Lease")
            .field("generation", &self.0.generation)
            .field("identity", &self.0.identity)
            .finish_non_exhaustive()
    }
}
