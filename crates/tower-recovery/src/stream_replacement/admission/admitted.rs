//! A stream whose items are handed out as they come.

use std::{
    fmt,
    future::Future,
    iter::Chain,
    option,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use futures_util::Stream;
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use super::held::Held;
use crate::{
    Failure, RequestRules,
    stream_replacement::{
        Resume, StreamReport, StreamRules,
        supervisor::{Signal, Supervisor},
    },
};

/// So much of what commits to nothing is held back. A stream that begins with more has begun.
const PREAMBLE_LIMIT: usize = 64 << 10;

/// The answer of a stream route: a head, and a stream that has begun.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Admitted<Head, Items> {
    /// What comes before the items.
    pub head: Head,
    /// The items. Its stream is fused: after the end, or an error, nothing comes.
    pub items: Items,
    /// What became of the attempts until now.
    pub report: StreamReport,
}

impl<Head, Items> Admitted<Head, Items> {
    /// An answer at its first attempt: for who tests a reader of their own.
    pub fn new(head: Head, items: Items) -> Self {
        Self { head, items, report: StreamReport { attempts: 1, ..StreamReport::default() } }
    }
}

pin_project! {
    /// The future of a [`StreamReplacement`](crate::stream_replacement::StreamReplacement) that hands items out as they come.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the attempt that is under way, or the pause before the next, and starts nothing more.
    #[must_use = "futures do nothing unless polled"]
    pub struct AdmittedFuture<Inner, Rules, Streams, Resumption, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
    {
        #[pin]
        supervisor: Supervisor<Inner, Rules, Streams, Resumption, Request>,
        head: Option<Streams::Head>,
        // Whether the first item ends what may be replaced.
        commits: bool,
        // What came before it and commits to nothing.
        preamble: Held<Streams::Item>,
    }
}

pin_project! {
    /// The items of one stream. It is not `Unpin`: `pin!` it, or box it.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the attempt that is under way, or the pause before the next, and starts nothing more.
    #[must_use = "streams do nothing unless polled"]
    pub struct AdmittedStream<Inner, Rules, Streams, Resumption, Request>
    where
        Inner: Service<Request>,
        Rules: RequestRules<Request>,
        Streams: StreamRules<Inner::Response>,
    {
        // What was held back.
        first: Chain<vec::IntoIter<Streams::Item>, option::IntoIter<Streams::Item>>,
        #[pin]
        supervisor: Supervisor<Inner, Rules, Streams, Resumption, Request>,
    }
}

impl<Inner, Rules, Streams, Resumption, Request> AdmittedFuture<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    pub(super) fn new(supervisor: Supervisor<Inner, Rules, Streams, Resumption, Request>, commits: bool) -> Self {
        Self { supervisor, head: None, commits, preamble: Held::up_to(PREAMBLE_LIMIT) }
    }
}

impl<Inner, Rules, Streams, Resumption, Request> Future for AdmittedFuture<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
    Request: Send + 'static,
{
    type Output = Result<Admitted<Streams::Head, AdmittedStream<Inner, Rules, Streams, Resumption, Request>>, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let first = loop {
            match ready!(this.supervisor.as_mut().poll_signal(context)) {
                Some(Ok(Signal::Opened(head))) => {
                    this.preamble.clear();
                    *this.head = Some(head);
                    // What is not watched goes out as it comes.
                    if this.supervisor.call().is_settled() {
                        break None;
                    }
                }
                Some(Ok(Signal::Preamble(item))) if *this.commits => {
                    let bytes = this.supervisor.call().bytes(&item);
                    if !this.preamble.push(item, bytes) {
                        this.supervisor.as_mut().call_mut().commit();
                        break None;
                    }
                }
                Some(Ok(Signal::Item(item) | Signal::Preamble(item))) => {
                    if *this.commits {
                        this.supervisor.as_mut().call_mut().commit();
                    }
                    break Some(item);
                }
                Some(Err(failure)) => return Poll::Ready(Err(failure)),
                None => break None,
            }
        };
        let supervisor = Supervisor::going_on(this.supervisor.move_on());
        let head = this.head.take().expect("a stream has its head before its items");
        let first = this.preamble.drain().chain(first);
        let report = supervisor.report();
        Poll::Ready(Ok(Admitted { head, items: AdmittedStream { first, supervisor }, report }))
    }
}

impl<Inner, Rules, Streams, Resumption, Request> AdmittedStream<Inner, Rules, Streams, Resumption, Request>
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

impl<Inner, Rules, Streams, Resumption, Request> Stream for AdmittedStream<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request> + Clone,
    Inner::Response: 'static,
    Inner::Error: Into<BoxError>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
    Resumption: Resume<Request, Streams::Head, Streams::Item>,
    Request: Send + 'static,
{
    type Item = Result<Streams::Item, Failure>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if let Some(first) = this.first.next() {
            return Poll::Ready(Some(Ok(first)));
        }
        loop {
            match ready!(this.supervisor.as_mut().poll_signal(context)) {
                // The head of a replacement that was found to give the rest.
                Some(Ok(Signal::Opened(_))) => {}
                Some(Ok(Signal::Item(item) | Signal::Preamble(item))) => return Poll::Ready(Some(Ok(item))),
                Some(Err(failure)) => return Poll::Ready(Some(Err(failure))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<Inner, Rules, Streams, Resumption, Request> fmt::Debug
    for AdmittedFuture<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AdmittedFuture").field("commits", &self.commits).finish_non_exhaustive()
    }
}

impl<Inner, Rules, Streams, Resumption, Request> fmt::Debug
    for AdmittedStream<Inner, Rules, Streams, Resumption, Request>
where
    Inner: Service<Request>,
    Rules: RequestRules<Request>,
    Streams: StreamRules<Inner::Response>,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AdmittedStream").field("report", &self.report()).finish_non_exhaustive()
    }
}
