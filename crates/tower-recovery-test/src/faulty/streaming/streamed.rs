//! What became of each stream.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use tokio::{sync::watch, time::Instant};

use super::super::{RequestContext, shared::Shared};
use crate::{Gate, counter::Counter, lock::lock};

/// One answer that is or was streamed. Clones are the same one.
///
/// It begins when its request was executed.
#[derive(Clone)]
pub struct StreamedAnswer(Arc<State>);

struct State {
    request: RequestContext,
    head: Gate,
    sends: Counter,
    bytes: Counter,
    end: watch::Sender<Option<StreamEnd>>,
}

/// How a streamed answer ended, as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// Its script was played to the end.
    Played,
    /// The client left before that: it has closed its side of the connection or reset it, or on HTTP/2, the stream.
    ClientLeft {
        /// When the server noticed, by tokio's clock.
        at: Instant,
    },
    /// The server ended the connection: by an act of another request, by a [refusal](crate::FaultyServer::refuse), or with itself.
    ConnectionEnded,
}

impl StreamedAnswer {
    /// The request that it answers.
    #[must_use]
    pub fn request(&self) -> &RequestContext {
        &self.0.request
    }

    /// How many bytes of the body were written to the socket, without the framing; a piece counts once it is written wholly. On HTTP/2,
    /// some 256 KiB of them may be on their way there.
    #[must_use]
    pub fn bytes_sent(&self) -> usize {
        self.0.bytes.value()
    }

    /// How many times bytes were sent; each round of a repeated step is one.
    #[must_use]
    pub fn sends(&self) -> usize {
        self.0.sends.value()
    }

    /// How it ended; `None` while it is being sent.
    #[must_use]
    pub fn end(&self) -> Option<StreamEnd> {
        *self.0.end.borrow()
    }
}

/// Events. Dropping one of these futures has no effect.
impl StreamedAnswer {
    /// Waits until the head was sent. On a stream that ends without one, it waits for ever.
    pub async fn wait_until_head_sent(&self) {
        self.0.head.opened().await;
    }

    /// Waits until at least so many bytes of the body were sent, as [`bytes_sent`](Self::bytes_sent) counts them.
    pub async fn wait_until_bytes_sent(&self, number: usize) {
        self.0.bytes.at_least(number).await;
    }

    /// Waits until bytes were sent at least so many times, as [`sends`](Self::sends) counts them.
    pub async fn wait_until_sends(&self, number: usize) {
        self.0.sends.at_least(number).await;
    }

    /// Waits until it has ended, and tells how.
    pub async fn wait_until_ended(&self) -> StreamEnd {
        let mut end = self.0.end.subscribe();
        let end = end.wait_for(Option::is_some).await.expect("the sender is borrowed, so the channel is open");
        end.expect("it was waited for")
    }

    /// Waits until the client has left, and tells when the server noticed, by tokio's clock.
    ///
    /// # Panics
    ///
    /// If the stream ends in another way.
    pub async fn wait_until_client_left(&self) -> Instant {
        match self.wait_until_ended().await {
            StreamEnd::ClientLeft { at } => at,
            other => panic!("the client was to leave, but the stream ended otherwise: {other:?}"),
        }
    }
}

impl fmt::Debug for StreamedAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamedAnswer")
            .field("request", &self.0.request.request_id)
            .field("sends", &self.0.sends)
            .field("bytes", &self.0.bytes)
            .field("end", &self.end())
            .finish()
    }
}

/// All streams in the order in which they began.
#[derive(Debug, Default)]
pub(in super::super) struct StreamLog {
    answers: Mutex<Vec<StreamedAnswer>>,
    /// How many requests were given the act.
    pub(in super::super) chosen: Counter,
    pub(super) begun: Counter,
    pub(super) sending: Counter,
    pub(super) left: Counter,
}

impl StreamLog {
    pub(super) fn snapshot(&self) -> Vec<StreamedAnswer> {
        lock(&self.answers).clone()
    }

    fn enter(&self, answer: StreamedAnswer) {
        lock(&self.answers).push(answer);
        self.sending.increment();
        self.begun.increment();
    }
}

/// A stream that is being sent. It has ended when this is dropped.
pub(in super::super) struct Sending {
    answer: StreamedAnswer,
    shared: Arc<Shared>,
}

impl Sending {
    pub(in super::super) fn begin(request: &RequestContext, shared: &Arc<Shared>) -> Self {
        let answer = StreamedAnswer(Arc::new(State {
            request: request.clone(),
            head: Gate::new(),
            sends: Counter::default(),
            bytes: Counter::default(),
            end: watch::Sender::new(None),
        }));
        shared.streams.enter(answer.clone());
        Self { answer, shared: Arc::clone(shared) }
    }

    pub(in super::super) fn head_sent(&self) {
        self.answer.0.head.open();
    }

    pub(super) fn sent(&self, bytes: usize) {
        // First of the two, so that who waits for a send finds its bytes.
        self.answer.0.bytes.add(bytes);
        self.answer.0.sends.increment();
    }

    pub(super) fn bytes_sent(&self) -> usize {
        self.answer.bytes_sent()
    }

    pub(in super::super) fn played(self) {
        self.end(StreamEnd::Played);
    }

    pub(in super::super) fn left(self) {
        self.end(StreamEnd::ClientLeft { at: Instant::now() });
        self.shared.streams.left.increment();
    }

    fn end(&self, end: StreamEnd) {
        self.answer.0.end.send_replace(Some(end));
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.answer.end().is_none() {
            self.end(StreamEnd::ConnectionEnded);
        }
        // Last, so that who waits for this count finds the end.
        self.shared.streams.sending.decrement();
    }
}
