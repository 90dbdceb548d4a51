//! What the layer sees of what is below it.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use tower::{BoxError, Service, util::BoxCloneSyncService};
use tower_recovery::{Failure, NotReady};

use super::World;
use crate::{
    protocol::{Answer, Call},
    record::{Event, Seen},
};

/// Writes down what the layer asks and sends, and minds being called unready.
#[derive(Debug)]
pub(crate) struct Tap {
    inner: BoxCloneSyncService<Call, Answer, BoxError>,
    world: World,
    asked: bool,
    readied: bool,
}

impl Tap {
    pub(crate) fn new(inner: BoxCloneSyncService<Call, Answer, BoxError>, world: &World) -> Self {
        Self { inner, world: world.clone(), asked: false, readied: false }
    }
}

/// A clone starts unready.
impl Clone for Tap {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), &self.world)
    }
}

impl Service<Call> for Tap {
    type Response = Answer;
    type Error = BoxError;
    type Future = Attempt;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if !std::mem::replace(&mut self.asked, true) {
            self.world.write(Event::Asked);
        }
        let outcome = ready!(self.inner.poll_ready(context));
        self.readied = outcome.is_ok();
        self.world.write(if self.readied { Event::Ready } else { Event::NotReady });
        Poll::Ready(outcome)
    }

    fn call(&mut self, call: Call) -> Attempt {
        assert!(std::mem::take(&mut self.readied), "an instance was called unready");
        self.asked = false;
        self.world.write(Event::Called { silent: call.silent, from: call.from });
        Attempt { future: self.inner.call(call), world: self.world.clone(), over: false }
    }
}

pub(crate) struct Attempt {
    future: Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>,
    world: World,
    over: bool,
}

impl Future for Attempt {
    type Output = Result<Answer, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.future.as_mut().poll(context));
        self.over = true;
        Poll::Ready(match outcome {
            Ok(answer) => {
                self.world.write(Event::CallEnded(Ok(answer.head)));
                Ok(answer)
            }
            Err(error) => {
                let mut failure = Failure::recover(error);
                let mut seen = Seen {
                    delivery: failure.delivery(),
                    permanent: failure.is_permanent(),
                    attempts: failure.attempts(),
                    gave_up: failure.gave_up(),
                    unsent: false,
                    not_ready: failure.find::<NotReady>().is_some(),
                    fault: failure.find().copied(),
                };
                if let Some(unsent) = failure.take_unsent::<Call>() {
                    seen.unsent = true;
                    failure = failure.with_unsent(unsent);
                }
                self.world.write(Event::CallEnded(Err(seen)));
                Err(failure.into())
            }
        })
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.over {
            self.world.write(Event::CallDropped);
        }
    }
}
