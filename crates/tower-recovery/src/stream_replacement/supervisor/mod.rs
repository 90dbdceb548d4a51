//! The attempts of one stream, one after the other: does what [`Supervision`](super::supervision::Supervision) orders.
//!
//! Items come first, timers second: what is there ends a silence before anybody acts on it. An attempt is dropped before another one is paused for, so
//! nothing of it can come late.

mod account;
mod attempt;
mod call;
mod ending;
mod watch;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::StreamExt;
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower::BoxError;
use tower_service::Service;

use self::attempt::{Attempt, Stage};
pub(super) use self::call::Call;
use super::{Resume, Sight, StreamReport, StreamRules, service::Block, supervision::Sign};
use crate::{Failure, RequestRules, Verdict, event};

pin_project! {
    /// The attempts of one stream. What moves on from the call's future to the stream is the [`Call`]; what is pinned is over by then.
    pub(super) struct Supervisor<Inner, Rules, Streams, Resumption, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
    {
        // `None` once it has moved on.
        call: Option<Call<Inner, Rules, Streams, Resumption, Request>>,
        #[pin]
        attempt: Attempt<Inner::Future>,
    }
}

/// What comes out of the attempts. After the end nothing does.
pub(super) enum Signal<Head, Item> {
    /// An attempt has begun to give its stream: what came of earlier ones is not part of it, unless it is resumed.
    Opened(Head),
    /// A part of the result.
    Item(Item),
    /// A part of the result that commits to nothing.
    Preamble(Item),
}

/// What one step of the supervision leads to.
enum Step<Output> {
    /// On with the next one.
    Next,
    /// This comes out.
    Out(Output),
}

/// So many items in a row of which nothing is handed out, and others have their turn.
const MOST_SIGNS_A_POLL: u32 = 64;

impl<Inner, Rules, Streams, Resumption, Request> Supervisor<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
{
    pub(super) fn new(
        block: Arc<Block<Inner, Rules, Streams>>,
        inner: &mut Inner,
        resume: Resumption,
        request: Request,
    ) -> Self {
        let mut call = Call::new(block, resume, &request);
        let future = call.send(inner, request);
        Self { call: Some(call), attempt: Attempt::calling(future) }
    }

    /// Goes on with a call whose attempt is under way, or over.
    pub(super) fn going_on(call: Call<Inner, Rules, Streams, Resumption, Request>) -> Self {
        Self { call: Some(call), attempt: Attempt::idle() }
    }
}

impl<Inner, Rules, Streams, Resumption, Request> Supervisor<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    /// The call, between two polls.
    pub(super) fn call(&self) -> &Call<Inner, Rules, Streams, Resumption, Request> {
        self.call.as_ref().expect("a call is not asked for after it has moved on")
    }

    pub(super) fn call_mut(self: Pin<&mut Self>) -> &mut Call<Inner, Rules, Streams, Resumption, Request> {
        self.project().call.as_mut().expect("a call is not asked for after it has moved on")
    }

    /// Moves the call on. To be asked after a signal, when no future of an attempt is under way.
    pub(super) fn move_on(self: Pin<&mut Self>) -> Call<Inner, Rules, Streams, Resumption, Request> {
        self.project().call.take().expect("a call moves on once")
    }

    /// Ends the stream, which whoever takes it cannot take.
    pub(super) fn give_up(self: Pin<&mut Self>, error: impl Into<BoxError>) -> Failure {
        let this = self.project();
        let call = this.call.as_mut().expect("a call is not given up after it has moved on");
        let mut failure = Failure::new(Verdict::answered().permanent(), error);
        // With its last part it was complete, and was said to be; and of what nobody watches nothing is said.
        if call.machine.is_watched() && !matches!(call.stage, Stage::Over) {
            call.attempt_failed(failure.delivery(), event::text(failure.cause().unwrap_or(&failure)));
        }
        call.close(this.attempt);
        failure.set_attempts(call.attempts());
        failure
    }

    pub(super) fn report(&self) -> StreamReport {
        self.call.as_ref().map(Call::report).unwrap_or_default()
    }
}

/// What comes out next; `None` at the end of a stream that is complete.
type Next<Streams, Response> =
    Option<Result<Signal<<Streams as StreamRules<Response>>::Head, <Streams as StreamRules<Response>>::Item>, Failure>>;

impl<Inner, Rules, Streams, Resumption, Request> Supervisor<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
    Request: Send + 'static,
{
    pub(super) fn poll_signal(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Next<Streams, Inner::Response>> {
        let mut this = self.project();
        let call = this.call.as_mut().expect("polled after the call has moved on");
        let mut signs = 0;
        loop {
            let step = match call.poll_attempt(this.attempt.as_mut(), &mut signs, context) {
                Poll::Ready(step) => step,
                Poll::Pending => ready!(call.poll_watch(this.attempt.as_mut(), context)),
            };
            if let Step::Out(output) = step {
                return Poll::Ready(output);
            }
        }
    }
}

impl<Inner, Rules, Streams, Resumption, Request> Call<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
    Request: Send + 'static,
{
    fn poll_attempt(
        &mut self,
        mut attempt: Pin<&mut Attempt<Inner::Future>>,
        signs: &mut u32,
        context: &mut Context<'_>,
    ) -> Poll<Step<Next<Streams, Inner::Response>>> {
        Poll::Ready(match &mut self.stage {
            // ## Calling => (Streaming | Pausing | Over)
            Stage::Calling => {
                let outcome = ready!(attempt.as_mut().poll_call(context));
                attempt.as_mut().end_call();
                match outcome {
                    Ok(response) => self.answered(attempt, response),
                    Err(error) => self.failed(attempt, Failure::recover(error.into())),
                }
            }
            // ## Streaming => (Pausing | Over)
            Stage::Streaming(items) => match ready!(items.poll_next_unpin(context)) {
                Some(Ok(item)) => match self.see(&item) {
                    Some(Sight::KeepAlive) => ready!(self.sign(Sign::KeepAlive, signs, context)),
                    Some(Sight::Progress) => ready!(self.sign(Sign::Content, signs, context)),
                    sight => self.hand_out(attempt, item, sight),
                },
                Some(Err(error)) => self.stream_failed(attempt, error),
                None => self.stream_ended(attempt),
            },
            // ## Pausing => Readying
            Stage::Pausing(until) => {
                let until = *until;
                ready!(attempt.as_mut().poll_timer(until, context));
                self.ready_another(Instant::now())
            }
            // ## Readying => (Calling | Pausing | Over)
            Stage::Readying(inner) => match ready!(inner.poll_ready(context)) {
                Ok(()) => self.call_another(attempt),
                Err(error) => self.failed(attempt, Failure::not_ready(error)),
            },
            Stage::Over => Step::Out(None),
        })
    }

    /// A sign of life of which nothing is handed out. After many of them in a row it is the watch's turn, and others'.
    fn sign<Output>(&mut self, sign: Sign, signs: &mut u32, context: &Context<'_>) -> Poll<Step<Output>> {
        self.account.sign(sign);
        self.end_probe();
        *signs += 1;
        if *signs < MOST_SIGNS_A_POLL {
            return Poll::Ready(Step::Next);
        }
        *signs = 0;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// A probe that is out is told of a sign of life at once: its answer is not waited for, and who reads slowly must not keep it open.
    fn end_probe(&mut self) {
        if self.probing.is_some() {
            self.tell_signs();
        }
    }

    fn answered(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        response: Inner::Response,
    ) -> Step<Next<Streams, Inner::Response>> {
        if self.streams.is_verdict(&response) {
            self.settle();
        }
        let (head, items) = self.streams.open(response);
        self.account.sign(Sign::Content);
        self.end_probe();
        if self.account.has_handed_out() {
            if let Err(refused) = self.resume.accept(&head) {
                return self.not_resumed(attempt, refused);
            }
        } else {
            self.resume.begin(&head);
        }
        self.stage = Stage::Streaming(items);
        Step::Out(Some(Ok(Signal::Opened(head))))
    }

    /// What an item says, where anybody wants to know.
    fn see(&mut self, item: &Streams::Item) -> Option<Sight> {
        self.machine.is_watched().then(|| self.streams.look(item))
    }

    fn hand_out(
        &mut self,
        attempt: Pin<&mut Attempt<Inner::Future>>,
        item: Streams::Item,
        sight: Option<Sight>,
    ) -> Step<Next<Streams, Inner::Response>> {
        self.account.sign(Sign::Content);
        // A verdict is the other side's answer to what was asked, the rest of something or not.
        if self.machine.is_watched()
            && sight != Some(Sight::Verdict)
            && let Err(refused) = self.resume.hand_out(&item)
        {
            return self.not_resumed(attempt, refused);
        }
        self.account.count(self.streams.bytes(&item));
        if matches!(sight, Some(Sight::Terminal | Sight::Verdict)) {
            self.succeeded(attempt);
        } else {
            self.end_probe();
        }
        let signal = if sight == Some(Sight::Preamble) { Signal::Preamble(item) } else { Signal::Item(item) };
        Step::Out(Some(Ok(signal)))
    }

    fn stream_ended(&mut self, attempt: Pin<&mut Attempt<Inner::Future>>) -> Step<Next<Streams, Inner::Response>> {
        if !self.machine.is_watched() || self.streams.is_complete() {
            self.succeeded(attempt);
            return Step::Out(None);
        }
        self.incomplete(attempt)
    }
}
