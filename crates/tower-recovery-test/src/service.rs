//! A service that follows a script: the handle of tests without a network.

use std::{
    fmt,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{
    BoxError, Step,
    lock::lock,
    script::{Script, ScriptedFuture},
};

/// A service whose answers are written down beforehand, and which remembers what it was asked.
///
/// Each call takes the next step. When the list has ended, the last step repeats, or what
/// [`then_always`](ScriptedService::then_always) set. Clones share the script, the requests and the counts.
///
/// # Examples
///
/// ```
/// use tower::{Service, ServiceExt};
/// use tower_recovery_test::{ScriptedService, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut service = ScriptedService::new([Step::fail("connection reset"), Step::answer(200)]);
///
/// assert!(service.ready().await.unwrap().call("GET /").await.is_err());
/// assert_eq!(service.ready().await.unwrap().call("GET /").await.unwrap(), 200);
/// assert_eq!(service.requests(), ["GET /", "GET /"]);
/// # }
/// ```
///
/// # Readiness
///
/// Always ready, but for steps made by [`Step::fail_ready`]. Wrap it into a
/// [`ScriptedReadiness`](crate::ScriptedReadiness) to script more, into a [`ReadinessProbe`](crate::ReadinessProbe) to check its callers.
///
/// # Panics
///
/// A call panics if the step does, and if there is neither a step nor a default.
pub struct ScriptedService<Request, Response> {
    script: Arc<Script<Response>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl<Request, Response> ScriptedService<Request, Response> {
    /// Makes a service that follows these steps.
    pub fn new(steps: impl IntoIterator<Item = Step<Response>>) -> Self {
        Self { script: Arc::new(Script::new(steps)), requests: Arc::default() }
    }

    /// Sets the step for every call after the end of the list.
    #[must_use]
    pub fn then_always(self, step: Step<Response>) -> Self {
        self.script.set_default(step);
        self
    }

    /// Adds a step at the end of the list.
    pub fn push(&self, step: Step<Response>) {
        self.script.push(step);
    }

    /// The requests so far, in the order of their calls.
    #[must_use]
    pub fn requests(&self) -> Vec<Request>
    where
        Request: Clone,
    {
        lock(&self.requests).clone()
    }

    /// How often the service was called.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.script.tallies.calls.value()
    }

    /// How many calls have neither ended nor been dropped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.script.tallies.in_flight.value()
    }

    /// How many calls were dropped before their end.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.script.tallies.dropped.value()
    }

    /// Waits until the service was called at least `number` times.
    pub async fn wait_until_calls(&self, number: usize) {
        self.script.tallies.calls.at_least(number).await;
    }

    /// Waits for a moment at which exactly `number` calls are in flight.
    pub async fn wait_until_in_flight(&self, number: usize) {
        self.script.tallies.in_flight.exactly(number).await;
    }

    /// Waits until at least `number` calls were dropped before their end.
    pub async fn wait_until_dropped(&self, number: usize) {
        self.script.tallies.dropped.at_least(number).await;
    }
}

impl<Request, Response> Clone for ScriptedService<Request, Response> {
    fn clone(&self) -> Self {
        Self { script: Arc::clone(&self.script), requests: Arc::clone(&self.requests) }
    }
}

impl<Request, Response> fmt::Debug for ScriptedService<Request, Response> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptedService").field("script", &self.script).finish_non_exhaustive()
    }
}

impl<Request, Response: 'static> Service<Request> for ScriptedService<Request, Response> {
    type Response = Response;
    type Error = BoxError;
    type Future = ScriptedFuture<Response>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(self.script.poll_ready())
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // Before the call is counted, so that who waits for the count finds the request.
        lock(&self.requests).push(request);
        self.script.call()
    }
}
