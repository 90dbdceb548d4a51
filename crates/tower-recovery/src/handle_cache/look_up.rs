//! What a resolver is asked that is told of evictions.

use crate::Identity;

/// What a resolver is asked by a cache that [tells of evictions](crate::HandleCache::telling_of_evictions): for whom, and whom it had better not name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LookUp<Target> {
    /// The name to resolve.
    pub target: Target,
    /// The instance that was evicted last, if none was found since, as it stands when the resolver is asked. `None` for a first resolve, for a look-up beside a handle that serves (a refresh, a
    /// suspicion), and after an [invalidation](crate::HandleCache::invalidate), which says nothing against anybody.
    ///
    /// It is the last one alone, however long ago that was: who fails by turns is told by turns.
    pub evicted: Option<Identity>,
    /// The instance whose handle serves while the resolver is asked: for a refresh, or a suspicion. A resolver that chooses among several, by chance perhaps, names it again for as long as it is one of them and well. `None` where
    /// callers wait.
    pub serving: Option<Identity>,
}

impl<Target> LookUp<Target> {
    /// A look-up of this name, before anybody was evicted.
    pub fn new(target: Target) -> Self {
        Self { target, evicted: None, serving: None }
    }

    /// The same after the eviction of this instance.
    #[must_use]
    pub fn after_eviction_of(self, evicted: impl Into<Identity>) -> Self {
        Self { evicted: Some(evicted.into()), ..self }
    }

    /// The same beside a handle that serves, of this instance.
    #[must_use]
    pub fn beside(self, serving: impl Into<Identity>) -> Self {
        Self { serving: Some(serving.into()), ..self }
    }

    /// Keeps who was evicted and who serves, and makes another target of this one, as a resolver does that asks another one.
    pub fn map<Other>(self, make: impl FnOnce(Target) -> Other) -> LookUp<Other> {
        LookUp { target: make(self.target), evicted: self.evicted, serving: self.serving }
    }

    /// Whether this is the instance that was evicted.
    #[must_use]
    pub fn avoids(&self, identity: &Identity) -> bool {
        self.evicted.as_ref() == Some(identity)
    }
}
