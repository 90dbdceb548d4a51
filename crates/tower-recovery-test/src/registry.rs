//! A registry in memory: names, and who serves them at the moment.

use std::{
    collections::HashMap,
    future::{Ready, ready},
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use tower_recovery::{Identity, Resolved};
use tower_service::Service;

use crate::{counter::Counter, lock::lock};

/// A map from names to handles, whose look-ups are counted. Clones are the same registry.
///
/// # Examples
///
/// ```
/// use tower::ServiceExt;
/// use tower_recovery_test::Registry;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let registry = Registry::new();
/// registry.register("orders", "10.0.0.7:80", "a handle");
///
/// let resolved = registry.resolver().oneshot("orders").await.unwrap();
/// assert_eq!(resolved.identity.as_str(), "10.0.0.7:80");
///
/// registry.unregister("orders");
/// let error = registry.resolver().oneshot("orders").await.unwrap_err();
/// assert_eq!(error.name, "orders");
/// assert_eq!(registry.look_ups("orders"), 2);
/// # }
/// ```
#[derive(Debug)]
pub struct Registry<Handle> {
    shared: Arc<Shared<Handle>>,
}

impl<Handle> Registry<Handle> {
    /// Makes an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared { entries: Mutex::default(), look_ups: Mutex::default() }) }
    }

    /// Registers an instance under a name, in the place of the one that it gives back.
    pub fn register(
        &self,
        name: impl Into<String>,
        identity: impl Into<Identity>,
        handle: Handle,
    ) -> Option<Resolved<Handle>> {
        let resolved = Resolved::new(identity, handle);
        lock(&self.shared.entries).insert(name.into(), resolved)
    }

    /// Forgets the instance under this name, and gives it back.
    pub fn unregister(&self, name: &str) -> Option<Resolved<Handle>> {
        lock(&self.shared.entries).remove(name)
    }

    /// A resolver that looks names up here, at the moment of each call.
    #[must_use]
    pub fn resolver(&self) -> RegistryResolver<Handle> {
        RegistryResolver { shared: Arc::clone(&self.shared) }
    }

    /// How often this name was looked up, found or not.
    #[must_use]
    pub fn look_ups(&self, name: &str) -> usize {
        self.shared.look_ups(name).value()
    }

    /// Waits until this name was looked up at least `number` times.
    pub async fn wait_until_look_ups(&self, name: &str, number: usize) {
        self.shared.look_ups(name).at_least(number).await;
    }
}

impl<Handle> Clone for Registry<Handle> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<Handle> Default for Registry<Handle> {
    fn default() -> Self {
        Self::new()
    }
}

/// The resolver of a [`Registry`]: a service from names to handles. It is always ready.
#[derive(Debug)]
pub struct RegistryResolver<Handle> {
    shared: Arc<Shared<Handle>>,
}

impl<Handle> Clone for RegistryResolver<Handle> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<Handle: Clone, Target: AsRef<str>> Service<Target> for RegistryResolver<Handle> {
    type Response = Resolved<Handle>;
    type Error = NotRegistered;
    type Future = Ready<Result<Resolved<Handle>, NotRegistered>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), NotRegistered>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Target) -> Self::Future {
        let name = target.as_ref();
        let found = lock(&self.shared.entries).get(name).cloned();
        self.shared.look_ups(name).increment();
        ready(found.ok_or_else(|| NotRegistered { name: name.to_owned() }))
    }
}

/// Nobody serves under this name at the moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is registered under the name {name:?}")]
#[non_exhaustive]
pub struct NotRegistered {
    /// The name that was looked up.
    pub name: String,
}

#[derive(Debug)]
struct Shared<Handle> {
    entries: Mutex<HashMap<String, Resolved<Handle>>>,
    /// Apart from the entries: a name is counted before it is registered and after it is gone.
    look_ups: Mutex<HashMap<String, Arc<Counter>>>,
}

impl<Handle> Shared<Handle> {
    fn look_ups(&self, name: &str) -> Arc<Counter> {
        let mut counters = lock(&self.look_ups);
        Arc::clone(counters.entry(name.to_owned()).or_default())
    }
}
