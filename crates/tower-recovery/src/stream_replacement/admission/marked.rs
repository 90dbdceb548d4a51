//! Handed out as it comes, with a word where it begins anew.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::Stream;
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use super::{Admitted, Restart};
use crate::{
    Failure, RequestRules,
    stream_replacement::{
        StreamReplacement, StreamReport, StreamRules,
        supervisor::{Signal, Supervisor},
    },
};

/// A stream is handed out as it comes, and where a replacement begins there stands a [`Restarted`](MarkedItem::Restarted): what came before it is to be
/// discarded. The call ends with the head of the first attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a choice without settings")]
pub struct Marked;

/// What a [`MarkedStream`] gives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "who reads it must know of both")]
pub enum MarkedItem<Head, Item> {
    /// A part of the result.
    Item(Item),
    /// The result begins anew: everything that came before is to be discarded.
    Restarted(Restarted<Head>),
}

/// A replacement begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restarted<Head> {
    /// What comes before its items.
    pub head: Head,
    /// What became of the attempts before it.
    pub report: StreamReport,
}

pin_project! {
    /// The future of a [`StreamReplacement`] that [marks](Marked) where a stream begins anew.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the attempt that is under way, or the pause before the next, and starts nothing more.
    #[must_use = "futures do nothing unless polled"]
    pub struct MarkedFuture<Inner, Rules, Streams, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
    {
        #[pin]
        supervisor: Supervisor<Inner, Rules, Streams, Restart, Request>,
    }
}

pin_project! {
    /// The items of one stream, and marks where it begins anew. It is not `Unpin`: `pin!` it, or box it.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the attempt that is under way, or the pause before the next, and starts nothing more.
    #[must_use = "streams do nothing unless polled"]
    pub struct MarkedStream<Inner, Rules, Streams, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
    {
        #[pin]
        supervisor: Supervisor<Inner, Rules, Streams, Restart, Request>,
    }
}

impl<Inner, Rules, Streams, Request> Service<Request> for StreamReplacement<Inner, Rules, Streams, Marked>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Request: Send + 'static,
{
    type Response = Admitted<Streams::Head, MarkedStream<Inner, Rules, Streams, Request>>;
    type Error = Failure;
    type Future = MarkedFuture<Inner, Rules, Streams, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.poll_inner_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        MarkedFuture { supervisor: self.supervise(Restart::new(), request) }
    }
}

impl<Inner, Rules, Streams, Request> Future for MarkedFuture<Inner, Rules, Streams, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Request: Send + 'static,
{
    type Output = Result<Admitted<Streams::Head, MarkedStream<Inner, Rules, Streams, Request>>, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        match ready!(this.supervisor.as_mut().poll_signal(context)) {
            Some(Ok(Signal::Opened(head))) => {
                let supervisor = Supervisor::going_on(this.supervisor.move_on());
                let report = supervisor.report();
                Poll::Ready(Ok(Admitted { head, items: MarkedStream { supervisor }, report }))
            }
            Some(Err(failure)) => Poll::Ready(Err(failure)),
            Some(Ok(Signal::Item(_) | Signal::Preamble(_))) | None => {
                panic!("polled after it was done: a stream has its head before its items")
            }
        }
    }
}

impl<Inner, Rules, Streams, Request> MarkedStream<Inner, Rules, Streams, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    /// What became of the attempts so far.
    #[must_use]
    pub fn report(&self) -> StreamReport {
        self.supervisor.report()
    }
}

impl<Inner, Rules, Streams, Request> Stream for MarkedStream<Inner, Rules, Streams, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Request: Send + 'static,
{
    type Item = Result<MarkedItem<Streams::Head, Streams::Item>, Failure>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let signal = ready!(this.supervisor.as_mut().poll_signal(context));
        Poll::Ready(signal.map(|signal| {
            Ok(match signal? {
                Signal::Item(item) | Signal::Preamble(item) => MarkedItem::Item(item),
                Signal::Opened(head) => MarkedItem::Restarted(Restarted { head, report: this.supervisor.report() }),
            })
        }))
    }
}

impl<Inner, Rules, Streams, Request> fmt::Debug for MarkedFuture<Inner, Rules, Streams, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MarkedFuture").finish_non_exhaustive()
    }
}

impl<Inner, Rules, Streams, Request> fmt::Debug for MarkedStream<Inner, Rules, Streams, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MarkedStream").field("report", &self.report()).finish_non_exhaustive()
    }
}
