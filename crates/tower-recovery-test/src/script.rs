//! The list of steps that clones take in turns, and what became of each call.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use crate::{BoxError, Step, counter::Counter, lock::lock};

/// What all clones of a scripted service share.
pub(crate) struct Script<Response> {
    steps: Mutex<Steps<Response>>,
    pub(crate) tallies: Arc<Tallies>,
}

/// What became of the calls.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) calls: Counter,
    pub(crate) in_flight: Counter,
    pub(crate) dropped: Counter,
}

impl<Response> Script<Response> {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step<Response>>) -> Self {
        Self {
            steps: Mutex::new(Steps { listed: steps.into_iter().collect(), last: None, default: None }),
            tallies: Arc::default(),
        }
    }

    pub(crate) fn push(&self, step: Step<Response>) {
        lock(&self.steps).listed.push_back(step);
    }

    pub(crate) fn set_default(&self, step: Step<Response>) {
        lock(&self.steps).default = Some(step);
    }

    pub(crate) fn poll_ready(&self) -> Result<(), BoxError> {
        let mut steps = lock(&self.steps);
        let Some(error) = steps.next().and_then(Step::ready_error) else {
            return Ok(());
        };
        steps.advance();
        Err(error)
    }

    /// # Panics
    ///
    /// If the step does, and if there was never a step.
    #[track_caller]
    pub(crate) fn call(&self) -> ScriptedFuture<Response>
    where
        Response: 'static,
    {
        self.tallies.calls.increment();
        let step = lock(&self.steps).advance();
        let step = step.expect("a script that is called has a step or a default");
        step.enter_call();
        ScriptedFuture { claim: Claim::new(&self.tallies), played: Box::pin(step.play()) }
    }
}

impl<Response> fmt::Debug for Script<Response> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Script")
            .field("steps", &lock(&self.steps).listed)
            .field("tallies", &self.tallies)
            .finish()
    }
}

struct Steps<Response> {
    listed: VecDeque<Step<Response>>,
    /// The step taken last: it repeats once the list has ended, unless there is a default.
    last: Option<Step<Response>>,
    default: Option<Step<Response>>,
}

impl<Response> Steps<Response> {
    fn next(&self) -> Option<&Step<Response>> {
        self.listed.front().or(self.default.as_ref()).or(self.last.as_ref())
    }

    fn advance(&mut self) -> Option<Step<Response>> {
        let next = self.next().cloned();
        if self.listed.pop_front().is_some() {
            self.last.clone_from(&next);
        }
        next
    }
}

/// The future of one call that a script answers.
///
/// # Cancel safety
///
/// Dropped before its end, it is counted as dropped; its step is used up.
#[must_use = "futures do nothing unless polled"]
pub struct ScriptedFuture<Response> {
    claim: Claim,
    played: Pin<Box<dyn Future<Output = Result<Response, BoxError>> + Send>>,
}

impl<Response> Future for ScriptedFuture<Response> {
    type Output = Result<Response, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A panic leaves `Polled` behind: the future ended by itself, nobody dropped it.
        self.claim.state = Flight::Polled;
        let polled = self.played.as_mut().poll(context);
        match polled {
            Poll::Ready(_) => self.claim.end(),
            Poll::Pending => self.claim.state = Flight::Waiting,
        }
        polled
    }
}

impl<Response> fmt::Debug for ScriptedFuture<Response> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptedFuture").finish_non_exhaustive()
    }
}

/// One call in flight. It ends once: by its answer, by a panic, or by being dropped.
struct Claim {
    tallies: Arc<Tallies>,
    state: Flight,
}

enum Flight {
    Waiting,
    Polled,
    Ended,
}

impl Claim {
    fn new(tallies: &Arc<Tallies>) -> Self {
        tallies.in_flight.increment();
        Self { tallies: Arc::clone(tallies), state: Flight::Waiting }
    }

    fn end(&mut self) {
        self.state = Flight::Ended;
        self.tallies.in_flight.decrement();
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        match self.state {
            Flight::Waiting => {
                // First of the two: who waits for nothing to be in flight finds the drop counted.
                self.tallies.dropped.increment();
                self.end();
            }
            Flight::Polled => self.end(),
            Flight::Ended => {}
        }
    }
}
