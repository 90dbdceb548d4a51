//! The other side.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::Stream;
use tower::{BoxError, Service};
use tower_recovery::{Failure, Verdict};

use super::{Inbox, World};
use crate::{
    faults::Fault,
    protocol::{Answer, Call, Given, Head, Item, Part},
    record::{Event, Gave, broken},
    script::{Feed, Opening},
};

/// A clone starts unready.
#[derive(Debug)]
pub(crate) struct Backend {
    world: World,
    readied: bool,
}

impl Backend {
    pub(crate) fn new(world: &World) -> Self {
        Self { world: world.clone(), readied: false }
    }
}

impl Clone for Backend {
    fn clone(&self) -> Self {
        Self::new(&self.world)
    }
}

impl Service<Call> for Backend {
    type Response = Answer;
    type Error = BoxError;
    type Future = Sending;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.world.poll_readiness(context).map(|ready| {
            self.readied = ready;
            if ready { Ok(()) } else { Err("the instance is of no use".into()) }
        })
    }

    fn call(&mut self, call: Call) -> Sending {
        assert!(std::mem::take(&mut self.readied), "an instance was called unready");
        let mut state = self.world.state();
        state.sends += 1;
        let send = state.sends;
        let mut inbox = std::mem::take(&mut state.ahead);
        inbox.opening = inbox.opening.or(state.backend);
        state.open.insert(send, inbox);
        state.record.push(Event::Sent { send });
        drop(state);
        Sending { world: self.world.clone(), send, call: Some(call) }
    }
}

#[derive(Debug)]
pub(crate) struct Sending {
    world: World,
    send: u32,
    call: Option<Call>,
}

impl Future for Sending {
    type Output = Result<Answer, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (world, send) = (self.world.clone(), self.send);
        let mut state = world.state();
        let inbox = state.open.get_mut(&send).expect("it is open until its future is dropped");
        let Some(opening) = inbox.opening.take() else {
            inbox.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        inbox.opened = true;
        let call = self.call.take().expect("a call ends once");
        if matches!(opening, Opening::Fails { .. }) {
            // What was meant for its stream the next one gets.
            let Inbox { feeds, ended, .. } = state.open.remove(&send).expect("it is open");
            (state.ahead.feeds, state.ahead.ended) = (feeds, ended);
        }
        state.record.push(Event::SendEnded { send, opening });
        drop(state);
        Poll::Ready(match opening {
            Opening::Stream { resumes } => Ok(answer(world, send, false, call.from.filter(|_| resumes))),
            Opening::Verdict => Ok(answer(world, send, true, None)),
            Opening::RefusedBy => {
                Err(Failure::from_response(Verdict::refused(), answer(world, send, true, None)).into())
            }
            Opening::Fails { kind, handed_back } => {
                let failure = Fault { send, kind }.failure();
                // Only what was never sent can be handed back.
                let unsent = handed_back && failure.delivery() == Some(tower_recovery::Delivery::NeverSent);
                Err(if unsent { failure.with_unsent(call) } else { failure }.into())
            }
        })
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.call.is_some() {
            let mut state = self.world.state();
            state.open.remove(&self.send);
            state.record.push(Event::SendDropped { send: self.send });
        }
    }
}

fn answer(world: World, send: u32, verdict: bool, from: Option<u32>) -> Answer {
    let place = from.unwrap_or(0);
    Answer { head: Head { send, verdict, from }, items: Items { world, send, number: 0, place, over: false } }
}

/// The stream of one sending.
#[derive(Debug)]
pub(crate) struct Items {
    world: World,
    send: u32,
    number: u32,
    place: u32,
    over: bool,
}

impl Stream for Items {
    type Item = Given;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Given>> {
        if self.over {
            broken("fused", format_args!("the stream of sending {} is polled after its end", self.send));
        }
        let world = self.world.clone();
        let mut state = world.state();
        let inbox = state.open.get_mut(&self.send).expect("it is open until its stream is dropped");
        let Some(feed) = inbox.feeds.pop_front() else {
            inbox.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let (gave, out) = self.give(feed);
        self.over = !matches!(gave, Gave::Item(_));
        state.record.push(Event::Gave { send: self.send, what: gave });
        Poll::Ready(out)
    }
}

impl Items {
    fn give(&mut self, feed: Feed) -> (Gave, Option<Given>) {
        let part = match feed {
            Feed::End => return (Gave::End, None),
            Feed::Breaks { kind, known } => {
                let fault = Fault { send: self.send, kind };
                return (Gave::Error(kind), Some(Err(fault.error(known))));
            }
            Feed::KeepAlive | Feed::Flood => Part::KeepAlive,
            Feed::Progress => Part::Progress,
            Feed::Preamble { long } => Part::Preamble { long },
            Feed::Content | Feed::Skipping => Part::Content,
            Feed::Terminal => Part::Terminal,
            Feed::Verdict => Part::Verdict,
        };
        self.place += u32::from(feed == Feed::Skipping);
        let item = Item { send: self.send, number: self.number, place: self.place, part };
        self.number += 1;
        self.place += u32::from(item.is_of_the_result());
        (Gave::Item(item), Some(Ok(item)))
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        let mut state = self.world.state();
        state.open.remove(&self.send);
        state.record.push(Event::StreamDropped { send: self.send });
    }
}
