//! Handed out when it is complete.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use super::{Restart, held::Held};
use crate::{
    Failure, RequestRules,
    stream_replacement::{
        StreamBroken, StreamReplacement, StreamReport, StreamRules, WholeTooLong,
        supervisor::{Signal, Supervisor},
    },
};

/// A stream is held back until it is complete, and handed out as a whole: the call ends when the stream does.
///
/// A verdict is handed out as it came, and in the mode `disabled` whatever ended without an error.
///
/// What is held back is bounded. Each item counts with its [bytes](StreamRules::bytes) and with the size of its value. A stream that grows over the bound is
/// given up: [`WholeTooLong`]. (While the vector grows it holds the values, though not the bytes, up to three times.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    limit: usize,
}

impl Whole {
    /// Up to so many bytes.
    #[must_use]
    pub fn up_to(limit: usize) -> Self {
        Self { limit }
    }
}

/// A stream that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WholeStream<Head, Item> {
    /// What came before the items.
    pub head: Head,
    /// All of them, of one attempt.
    pub items: Vec<Item>,
    /// What became of the attempts.
    pub report: StreamReport,
}

impl<Head, Item> WholeStream<Head, Item> {
    /// A stream that was complete at its first attempt: for who tests a reader of their own.
    pub fn new(head: Head, items: Vec<Item>) -> Self {
        Self { head, items, report: StreamReport { attempts: 1, ..StreamReport::default() } }
    }
}

pin_project! {
    /// The future of [`StreamReplacement`] that hands out the [`Whole`].
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the attempt that is under way, or the pause before the next, and starts nothing more.
    #[must_use = "futures do nothing unless polled"]
    pub struct WholeFuture<Inner, Rules, Streams, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
    {
        #[pin]
        supervisor: Supervisor<Inner, Rules, Streams, Restart, Request>,
        head: Option<Streams::Head>,
        held: Held<Streams::Item>,
    }
}

impl<Inner, Rules, Streams, Request> Service<Request> for StreamReplacement<Inner, Rules, Streams, Whole>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Streams::Item: Send + 'static,
    Request: Send + 'static,
{
    type Response = WholeStream<Streams::Head, Streams::Item>;
    type Error = Failure;
    type Future = WholeFuture<Inner, Rules, Streams, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.poll_inner_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let limit = self.admission.limit;
        let supervisor = self.supervise(Restart::new(), request);
        WholeFuture { supervisor, head: None, held: Held::up_to(limit) }
    }
}

impl<Inner, Rules, Streams, Request> Future for WholeFuture<Inner, Rules, Streams, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Streams::Item: Send + 'static,
    Request: Send + 'static,
{
    type Output = Result<WholeStream<Streams::Head, Streams::Item>, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match ready!(this.supervisor.as_mut().poll_signal(context)) {
                Some(Ok(Signal::Opened(head))) => {
                    // What an earlier attempt gave is not part of it.
                    *this.head = Some(head);
                    this.held.clear();
                }
                Some(Ok(Signal::Item(item) | Signal::Preamble(item))) => {
                    let bytes = this.supervisor.call().bytes(&item);
                    if !this.held.push(item, bytes) {
                        this.held.clear();
                        let too_long = WholeTooLong { limit: this.held.limit() };
                        return Poll::Ready(Err(this.supervisor.as_mut().give_up(too_long)));
                    }
                }
                Some(Err(failure)) => {
                    // An attempt without a head leaves what an earlier one gave, which is nobody's.
                    if this.supervisor.call().received() == 0 {
                        this.held.clear();
                    }
                    if let Some(broken) = failure.find::<StreamBroken>() {
                        broken.keep_partial(this.held.take());
                    }
                    return Poll::Ready(Err(failure));
                }
                None => {
                    let head = this.head.take().expect("a stream is complete after its head, once");
                    let items = this.held.take();
                    return Poll::Ready(Ok(WholeStream { head, items, report: this.supervisor.report() }));
                }
            }
        }
    }
}

impl<Inner, Rules, Streams, Request> fmt::Debug for WholeFuture<Inner, Rules, Streams, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WholeFuture")
            .field("held", &self.held.size())
            .field("limit", &self.held.limit())
            .finish_non_exhaustive()
    }
}
