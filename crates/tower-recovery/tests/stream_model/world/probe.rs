//! Who is asked whether the route works.

use std::{
    panic::resume_unwind,
    pin::Pin,
    task::{Context, Poll},
};

use tower::{BoxError, Service};
use tower_recovery::stream_replacement::{Health as Found, ProbeRequest};

use super::{Probe, World};
use crate::{
    record::{Event, broken},
    script::Health,
};

#[derive(Clone, Debug)]
pub(crate) struct Prober(pub(crate) World);

impl Service<ProbeRequest> for Prober {
    type Response = Found;
    type Error = BoxError;
    type Future = Asking;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ProbeRequest) -> Asking {
        let mut state = self.0.state();
        state.probes += 1;
        let number = state.probes;
        let end = state.prober;
        if state.probe.replace(Probe { number, end, waker: None }).is_some() {
            broken("silence", "two probes at once");
        }
        state.record.push(Event::ProbeCalled { round: request.round });
        drop(state);
        Asking { world: self.0.clone(), number, over: false }
    }
}

#[derive(Debug)]
pub(crate) struct Asking {
    world: World,
    number: u32,
    over: bool,
}

impl Future for Asking {
    type Output = Result<Found, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let world = self.world.clone();
        let mut state = world.state();
        let probe = state.probe.as_mut().filter(|probe| probe.number == self.number).expect("it is open");
        let Some(end) = probe.end else {
            probe.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        self.over = true;
        state.probe = None;
        state.record.push(Event::ProbeEnded(end));
        drop(state);
        Poll::Ready(match end {
            Health::Healthy => Ok(Found::Healthy),
            Health::Refused => Ok(Found::Refused),
            Health::Error => Err("nobody answers".into()),
            // Not `panic!`: the panic is part of the script, and the hook would print it.
            Health::Panic => resume_unwind(Box::new("the prober panics")),
        })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.over {
            let mut state = self.world.state();
            state.probe = None;
            state.record.push(Event::ProbeDropped);
        }
    }
}
