//! [`HandleCache`]: the handle that a registry gave for a name, shared by every clone of a stack.

mod acquire;
mod builder;
mod flight;
mod floor;
mod generation;
mod look_up;
mod refresh;
mod resolve_error;
mod resolver;
mod shared;
mod state;

use std::{fmt, sync::Arc};

use tower::{BoxError, ServiceExt};
use tower_service::Service;

pub(crate) use self::shared::Shared;
use self::state::Telling;
pub use self::{
    acquire::Acquire, builder::HandleCacheBuilder, generation::Generation, look_up::LookUp, resolve_error::ResolveError,
};
use crate::{Lease, Resolved, lease::Issuer};

/// The handle that a registry gave for a name, with the resolver that gives the next one.
///
/// All clones share it. A failure that indicts the handle evicts it by its [`Generation`], and the next caller
/// resolves the name again: once, however many callers wait.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use tower::service_fn;
/// use tower_recovery::{HandleCache, Resolved};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// // A resolver is any tower service from a name to `Resolved`; a handle is whatever serves the calls.
/// let resolver = service_fn(|name: &'static str| async move {
///     Ok::<_, Infallible>(Resolved::new(format!("{name}@10.0.0.7"), "a client of 10.0.0.7"))
/// });
/// let cache = HandleCache::builder(resolver, "artifact-manager").named("artifact manager service proxy").build();
///
/// let held = cache.acquire().await?;
/// assert_eq!(held.lease.identity().as_str(), "artifact-manager@10.0.0.7");
///
/// assert!(held.lease.indict(), "it was live, and is evicted");
/// assert!(!held.lease.indict(), "a late failure of an old generation evicts nothing");
/// # Ok(())
/// # }
/// ```
///
/// # Concurrent calls
///
/// Callers that find no handle share one resolve. It needs no task of its own: the callers drive it, it survives the dropping
/// of any of them, and it ends when the last one has gone. A resolve that fails gives each of them the same [`ResolveError`],
/// is not remembered, and the next call tries again, after a pause that grows while resolving does not help.
///
/// A handle is cloned under the cache's lock: its `Clone` must not call the cache. Its `Drop` may. Each clone of a stack keeps a copy of the handle that
/// it used last until its next call, or its own end: a connection behind an evicted handle may stay open that long.
///
/// A resolve belongs to the runtime of the caller that began it. If that runtime is shut down, callers on another one that wait for it get
/// [`ResolveError::Panicked`], and the next call resolves anew.
///
/// # Panics
///
/// A resolver that panics is a [`ResolveError::Panicked`] for those who wait for it. No panic crosses to another caller.
pub struct HandleCache<Handle> {
    shared: Arc<Shared<Handle>>,
}

/// A handle in use: what to call, and the lease to indict it by.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Held<Handle> {
    /// The service to call.
    pub handle: Handle,
    /// The hold on its generation.
    pub lease: Lease,
}

impl<Handle: Clone + Send + 'static> HandleCache<Handle> {
    /// A cache with default bounds for what this resolver answers for this target. Nothing is resolved before the first call.
    pub fn new<Resolver, Target>(resolver: Resolver, target: Target) -> Self
    where
        Resolver: Service<Target, Response = Resolved<Handle>> + Clone + Send + 'static,
        Resolver::Error: Into<BoxError>,
        Resolver::Future: Send,
        Target: Clone + Send + 'static,
    {
        Self::builder(resolver, target).build()
    }

    /// The same, with bounds and a name of your choice.
    pub fn builder<Resolver, Target>(resolver: Resolver, target: Target) -> HandleCacheBuilder<Handle>
    where
        Resolver: Service<Target, Response = Resolved<Handle>> + Clone + Send + 'static,
        Resolver::Error: Into<BoxError>,
        Resolver::Future: Send,
        Target: Clone + Send + 'static,
    {
        let resolver = resolver.map_request(|look_up: LookUp<Target>| look_up.target);
        HandleCacheBuilder::new(resolver::erase(resolver, target), Telling::Nothing)
    }

    /// The same for a resolver that is told whom a failure has just evicted, so that it names somebody else.
    ///
    /// Take it where a registry knows several instances under one name and has not noticed that one of them is dead or frozen: asked again, it may pick that one again, and each time costs a call
    /// and a pause. Where a name has one instance at a time, [`builder`](Self::builder) is enough.
    ///
    /// [`LookUp::evicted`] is advice. A resolver that has nobody else to offer may name the evicted instance, which is installed, and makes the pause before the next resolve grow; it may fail as
    /// well. Nobody is avoided for good: once any instance was found, nothing is said against the one before it.
    ///
    /// A look-up beside a handle that serves (a refresh, a suspicion) is told of nobody, and may lead back to whoever was evicted before: have the resolver name the same instance for as long as it
    /// serves. If that handle is evicted before the look-up has answered, and it then names the evicted instance, it did not know: its answer is dropped, and those who wait have the registry asked
    /// once more, after the floor. So an eviction causes one resolve here too; what goes before it was asked for something else.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower::{BoxError, service_fn};
    /// use tower_recovery::{HandleCache, Identity, LookUp, Resolved};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), BoxError> {
    /// // A registry that lists the frozen instance first, for as long as it has not noticed.
    /// let resolver = service_fn(|look_up: LookUp<&'static str>| async move {
    ///     let listed = ["10.0.0.7", "10.0.0.8"].map(Identity::from);
    ///     let other = listed.iter().find(|identity| !look_up.avoids(identity));
    ///     let chosen = other.or(listed.first()).ok_or("nobody is listed")?;
    ///     Ok::<_, BoxError>(Resolved::new(chosen.clone(), format!("a client of {chosen}")))
    /// });
    /// let cache = HandleCache::telling_of_evictions(resolver, "artifact-manager").build();
    ///
    /// cache.acquire().await?.lease.indict();
    /// assert_eq!(cache.acquire().await?.lease.identity().as_str(), "10.0.0.8");
    /// # Ok(())
    /// # }
    /// ```
    pub fn telling_of_evictions<Resolver, Target>(resolver: Resolver, target: Target) -> HandleCacheBuilder<Handle>
    where
        Resolver: Service<LookUp<Target>, Response = Resolved<Handle>> + Clone + Send + 'static,
        Resolver::Error: Into<BoxError>,
        Resolver::Future: Send,
        Target: Clone + Send + 'static,
    {
        HandleCacheBuilder::new(resolver::erase(resolver, target), Telling::OfEvictions)
    }

    /// Waits for the live handle; resolves the name if there is none.
    ///
    /// # Errors
    ///
    /// The [`ResolveError`] of the resolve that this call waited for.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the resolve to those who wait beside it; the last one to leave ends it.
    pub fn acquire(&self) -> Acquire<Handle> {
        Acquire::new(Arc::clone(&self.shared))
    }

    /// Asks the registry while the live handle goes on serving, and replaces it if the name points to another instance now.
    ///
    /// Look-ups at the same time are one look-up. Without a live handle this is [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// The [`ResolveError`] of the look-up; the live handle stays.
    ///
    /// # Cancel safety
    ///
    /// As of [`acquire`](Self::acquire).
    pub fn refresh(&self) -> Acquire<Handle> {
        Acquire::looking_up(Arc::clone(&self.shared))
    }

    /// The generation that serves, or `None` while there is no handle.
    #[must_use]
    pub fn generation(&self) -> Option<Generation> {
        self.shared.live()
    }

    /// Evicts the handle of this generation if it is the live one, and tells whether it was.
    pub fn evict(&self, generation: Generation) -> bool {
        self.shared.evict(generation)
    }

    /// What the handles are made of was replaced, as a connection that all of them share: the live one, and one that is being resolved, are of no use any more. The
    /// next call resolves anew, and so do those that wait.
    ///
    /// Unlike an eviction this says nothing against the instance: finding it again is what is expected. A
    /// [`RegistrationProbe`](crate::RegistrationProbe) does it to the caches that are derived from its connection.
    pub fn invalidate(&self) {
        self.shared.invalidate();
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<Handle>> {
        &self.shared
    }
}

impl<Handle> Clone for HandleCache<Handle> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<Handle> fmt::Debug for HandleCache<Handle> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HandleCache").finish_non_exhaustive()
    }
}
