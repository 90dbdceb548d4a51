//! A resolver that follows a script.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tower_recovery::Resolved;
use tower_service::Service;

use crate::{
    BoxError, Step,
    script::{Script, ScriptedFuture},
};

/// A resolver, for any target, whose answers are written down beforehand.
///
/// Each call takes the next step. When the list has ended, the last step repeats, or what
/// [`then_always`](ScriptedResolver::then_always) set. Clones share the script and the counts.
///
/// # Examples
///
/// ```
/// use tower::ServiceExt;
/// use tower_recovery_test::{ScriptedResolver, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let resolver = ScriptedResolver::new([
///     Step::resolved("instance-1", "a handle"),
///     Step::fail("the registry does not answer"),
/// ]);
///
/// let resolved = resolver.clone().oneshot("orders").await.unwrap();
/// assert_eq!(resolved.identity.as_str(), "instance-1");
///
/// let error = resolver.clone().oneshot("orders").await.unwrap_err();
/// assert_eq!(error.to_string(), "the registry does not answer");
/// assert_eq!(resolver.resolves(), 2);
/// # }
/// ```
///
/// # Readiness
///
/// Always ready, but for steps made by [`Step::fail_ready`]. For a resolver that is slow to become ready, see
/// [`ScriptedReadiness`](crate::ScriptedReadiness).
///
/// # Panics
///
/// A call panics if the step does, and if there is neither a step nor a default.
#[derive(Debug)]
pub struct ScriptedResolver<Handle> {
    script: Arc<Script<Resolved<Handle>>>,
}

impl<Handle> ScriptedResolver<Handle> {
    /// Makes a resolver that follows these steps.
    pub fn new(steps: impl IntoIterator<Item = Step<Resolved<Handle>>>) -> Self {
        Self { script: Arc::new(Script::new(steps)) }
    }

    /// Sets the step for every call after the end of the list.
    #[must_use]
    pub fn then_always(self, step: Step<Resolved<Handle>>) -> Self {
        self.script.set_default(step);
        self
    }

    /// Adds a step at the end of the list.
    pub fn push(&self, step: Step<Resolved<Handle>>) {
        self.script.push(step);
    }

    /// How many resolves were called for.
    #[must_use]
    pub fn resolves(&self) -> usize {
        self.script.tallies.calls.value()
    }

    /// How many resolves have neither ended nor been dropped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.script.tallies.in_flight.value()
    }

    /// How many resolves were dropped before their end.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.script.tallies.dropped.value()
    }

    /// Waits until at least `number` resolves were called for.
    pub async fn wait_until_resolves(&self, number: usize) {
        self.script.tallies.calls.at_least(number).await;
    }

    /// Waits for a moment at which exactly `number` resolves are in flight.
    pub async fn wait_until_in_flight(&self, number: usize) {
        self.script.tallies.in_flight.exactly(number).await;
    }

    /// Waits until at least `number` resolves were dropped before their end.
    pub async fn wait_until_dropped(&self, number: usize) {
        self.script.tallies.dropped.at_least(number).await;
    }
}

impl<Handle> Clone for ScriptedResolver<Handle> {
    fn clone(&self) -> Self {
        Self { script: Arc::clone(&self.script) }
    }
}

impl<Handle: 'static, Target> Service<Target> for ScriptedResolver<Handle> {
    type Response = Resolved<Handle>;
    type Error = BoxError;
    type Future = ScriptedFuture<Resolved<Handle>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(self.script.poll_ready())
    }

    fn call(&mut self, _target: Target) -> Self::Future {
        self.script.call()
    }
}
