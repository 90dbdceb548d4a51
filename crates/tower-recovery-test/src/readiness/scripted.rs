//! The service whose readiness is written down beforehand.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};

use tower_service::Service;

use crate::{Gate, lock::lock};

/// How one readying goes.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadyStep<Error> {
    /// Ready at the first poll.
    Ready,
    /// Pending for this many polls, each of which wakes its task; then ready.
    Pending {
        /// How many polls are pending.
        times: usize,
    },
    /// Pending until the gate is open; then ready.
    Until(Gate),
    /// The error of `poll_ready`.
    Fail(Error),
}

/// A service around another whose readiness follows a script: see the [module docs](super).
///
/// Clones share the script: whichever instance is the next to be readied takes the next step. After the last one, each is ready at once.
///
/// # Readiness
///
/// The script's, and after each step the inner service's. An instance that is ready stays so until it is called or the
/// inner service fails; a clone starts unready.
pub struct ScriptedReadiness<Inner, Error> {
    inner: Inner,
    script: Arc<Mutex<VecDeque<ReadyStep<Error>>>>,
    state: State,
}

impl<Inner, Error> ScriptedReadiness<Inner, Error> {
    /// Puts scripted readiness in front of a service.
    pub fn new(inner: Inner, steps: impl IntoIterator<Item = ReadyStep<Error>>) -> Self {
        Self { inner, script: Arc::new(Mutex::new(steps.into_iter().collect())), state: State::Unready }
    }

    fn poll_script(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            match &mut self.state {
                // ## Unready => (Unready | Pending | Gated | Ready)
                State::Unready => {
                    let step = lock(&self.script).pop_front();
                    self.state = match step {
                        None | Some(ReadyStep::Ready) => State::Ready,
                        Some(ReadyStep::Pending { times }) => State::Pending(times),
                        Some(ReadyStep::Until(gate)) => State::Gated(Box::pin(async move { gate.opened().await })),
                        Some(ReadyStep::Fail(error)) => return Poll::Ready(Err(error)),
                    };
                }
                // ## Pending => (Pending | Ready)
                State::Pending(0) => self.state = State::Ready,
                State::Pending(left) => {
                    *left -= 1;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // ## Gated => (Gated | Ready)
                State::Gated(opened) => {
                    ready!(opened.as_mut().poll(context));
                    self.state = State::Ready;
                }
                State::Ready => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// The clone is unready, and takes a step of its own.
impl<Inner: Clone, Error> Clone for ScriptedReadiness<Inner, Error> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), script: Arc::clone(&self.script), state: State::Unready }
    }
}

impl<Inner, Error> fmt::Debug for ScriptedReadiness<Inner, Error> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ScriptedReadiness")
            .field("steps_left", &lock(&self.script).len())
            .finish_non_exhaustive()
    }
}

impl<Inner, Request> Service<Request> for ScriptedReadiness<Inner, Inner::Error>
where
    Inner: Service<Request>,
{
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = Inner::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Inner::Error>> {
        ready!(self.poll_script(context))?;
        let readied = ready!(self.inner.poll_ready(context));
        if readied.is_err() {
            self.state = State::Unready;
        }
        Poll::Ready(readied)
    }

    fn call(&mut self, request: Request) -> Inner::Future {
        self.state = State::Unready;
        self.inner.call(request)
    }
}

enum State {
    Unready,
    Pending(usize),
    Gated(Pin<Box<dyn Future<Output = ()> + Send + Sync>>),
    Ready,
}
