//! What a scripted service or resolver does with one call.

use std::{
    error::Error,
    fmt,
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use tower_recovery::{Identity, Resolved};

use crate::{Gate, lock::lock};

/// Any error, boxed.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// One step of a script: what one call comes to.
///
/// ```
/// use std::time::Duration;
/// use tower_recovery_test::{Gate, Step};
///
/// let gate = Gate::new();
/// let steps = [
///     Step::answer("pong"),
///     Step::fail("connection refused"),
///     Step::answer("pong").delayed(Duration::from_secs(3)),
///     Step::answer("pong").behind(&gate),
///     Step::hang(),
/// ];
/// # let _ = steps;
/// ```
pub struct Step<Response>(Kind<Response>);

impl<Response: 'static> Step<Response> {
    /// Answers with this value.
    pub fn answer(response: Response) -> Self
    where
        Response: Clone + Send,
    {
        Self::answer_with(move || response.clone())
    }

    /// Answers with what the closure makes: for responses that cannot be cloned.
    pub fn answer_with(mut make: impl FnMut() -> Response + Send + 'static) -> Self {
        Self(Kind::End(Arc::new(Mutex::new(move || Ok(make())))))
    }

    /// Answers with this value, once: for a response that cannot be cloned and is made beforehand, such as a
    /// [`ScriptedStream`](crate::ScriptedStream).
    ///
    /// A call that meets this step again, since it is the last one, panics when its future is polled.
    pub fn answer_once(response: Response) -> Self
    where
        Response: Send,
    {
        let mut response = Some(response);
        Self::answer_with(move || response.take().expect("the answer was given already"))
    }

    /// Fails with this error; text will do.
    pub fn fail(error: impl Into<BoxError> + Clone + Send + 'static) -> Self {
        Self::fail_with(move || error.clone())
    }

    /// Fails with what the closure makes: for errors that cannot be cloned.
    pub fn fail_with<Failed: Into<BoxError>>(mut make: impl FnMut() -> Failed + Send + 'static) -> Self {
        Self(Kind::End(Arc::new(Mutex::new(move || Err(make().into())))))
    }

    /// Fails `poll_ready` with this error, and is used up by that.
    ///
    /// A call that meets this step all the same, since its instance was readied before the step's turn, fails with the error.
    pub fn fail_ready(error: impl Into<BoxError> + Clone + Send + 'static) -> Self {
        Self(Kind::FailReady(Arc::new(Mutex::new(move || error.clone().into()))))
    }
}

impl<Response> Step<Response> {
    /// Never ends: neither an answer nor an error.
    #[must_use]
    pub fn hang() -> Self {
        Self(Kind::Hang)
    }

    /// Panics in `call`; after a gate or a delay, in the future's `poll`.
    #[must_use]
    pub fn panic_in_call() -> Self {
        Self(Kind::PanicInCall)
    }

    /// Panics when the future is polled.
    #[must_use]
    pub fn panic_in_poll() -> Self {
        Self(Kind::PanicInPoll)
    }

    /// Does this step once the gate is open.
    #[must_use]
    pub fn behind(self, gate: &Gate) -> Self {
        Self(Kind::Gated(gate.clone(), Box::new(self)))
    }

    /// Does this step after a delay on tokio's clock, counted from the future's first poll.
    #[must_use]
    pub fn delayed(self, delay: Duration) -> Self {
        Self(Kind::Delayed(delay, Box::new(self)))
    }

    /// Plays the part of the step that `call` does before there is a future.
    pub(crate) fn enter_call(&self) {
        if matches!(self.0, Kind::PanicInCall) {
            panic!("the script panics in call");
        }
    }

    /// Plays the step to its end.
    pub(crate) async fn play(self) -> Result<Response, BoxError> {
        let mut step = self;
        loop {
            match step.0 {
                Kind::End(make) => return lock(&make)(),
                Kind::FailReady(make) => return Err(lock(&make)()),
                Kind::Hang => pending().await,
                Kind::PanicInCall | Kind::PanicInPoll => panic!("the script panics in poll"),
                Kind::Gated(gate, next) => {
                    gate.opened().await;
                    step = *next;
                }
                Kind::Delayed(delay, next) => {
                    tokio::time::sleep(delay).await;
                    step = *next;
                }
            }
        }
    }

    /// The error for `poll_ready`, where the step is one.
    pub(crate) fn ready_error(&self) -> Option<BoxError> {
        match &self.0 {
            Kind::FailReady(make) => Some(lock(make)()),
            _ => None,
        }
    }
}

impl<Handle: Clone + Send + 'static> Step<Resolved<Handle>> {
    /// Answers a resolve with a handle and who it points to.
    pub fn resolved(identity: impl Into<Identity>, handle: Handle) -> Self {
        Self::answer(Resolved::new(identity, handle))
    }
}

impl<Response> Clone for Step<Response> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kind::End(make) => Kind::End(Arc::clone(make)),
            Kind::FailReady(make) => Kind::FailReady(Arc::clone(make)),
            Kind::Hang => Kind::Hang,
            Kind::PanicInCall => Kind::PanicInCall,
            Kind::PanicInPoll => Kind::PanicInPoll,
            Kind::Gated(gate, next) => Kind::Gated(gate.clone(), next.clone()),
            Kind::Delayed(delay, next) => Kind::Delayed(*delay, next.clone()),
        })
    }
}

impl<Response> fmt::Debug for Step<Response> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::End(_) => formatter.write_str("End"),
            Kind::FailReady(_) => formatter.write_str("FailReady"),
            Kind::Hang => formatter.write_str("Hang"),
            Kind::PanicInCall => formatter.write_str("PanicInCall"),
            Kind::PanicInPoll => formatter.write_str("PanicInPoll"),
            Kind::Gated(_, next) => formatter.debug_tuple("Gated").field(next).finish(),
            Kind::Delayed(delay, next) => formatter.debug_tuple("Delayed").field(delay).field(next).finish(),
        }
    }
}

/// Makers are shared, so that a step may repeat whatever its response is, and locked, so that a step is `Sync` without asking it of them.
type Maker<Made> = Arc<Mutex<dyn FnMut() -> Made + Send>>;

enum Kind<Response> {
    End(Maker<Result<Response, BoxError>>),
    FailReady(Maker<BoxError>),
    Hang,
    PanicInCall,
    PanicInPoll,
    Gated(Gate, Box<Step<Response>>),
    Delayed(Duration, Box<Step<Response>>),
}
