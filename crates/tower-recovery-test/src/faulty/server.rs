//! The handle of a running server: its switches, its log, its counts and its events.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use super::{Execution, FaultyServerBuilder, RefusedAddress, shared::Shared};
use crate::listening::Listening;

/// A faulty HTTP server on a real socket: see the [module docs](super).
///
/// Dropping it ends the server: its tasks are aborted and its sockets are closed as soon as the runtime comes to it.
pub struct FaultyServer {
    listening: Listening,
    pub(super) shared: Arc<Shared>,
}

impl FaultyServer {
    /// Starts to describe a server.
    pub fn builder() -> FaultyServerBuilder {
        FaultyServerBuilder::new()
    }

    /// An address where nobody listens.
    ///
    /// # Errors
    ///
    /// If no socket can be bound.
    pub fn refused_address() -> io::Result<RefusedAddress> {
        RefusedAddress::reserve()
    }

    pub(super) fn start(shared: Shared) -> io::Result<Self> {
        let shared = Arc::new(shared);
        Ok(Self { listening: Listening::start(&shared)?, shared })
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Where the server listens, as an origin: `http://127.0.0.1:PORT`, or `https://127.0.0.1:PORT` over TLS.
    #[must_use]
    pub fn origin(&self) -> String {
        #[cfg(feature = "tls")]
        if self.shared.tls.is_some() {
            return format!("https://{}", self.address());
        }
        format!("http://{}", self.address())
    }
}

/// Switches. A freeze and a refusal are independent of each other.
impl FaultyServer {
    /// From now on, what is read is held unexecuted, and so is what was read and not executed before. Connections are accepted as ever.
    ///
    /// What was executed before is still answered.
    pub fn freeze(&self) {
        self.shared.freeze.freeze();
    }

    /// Executes whatever is held, for clients that have gone, too, and answers it where there is still somebody to answer. That much
    /// happens even if the next [`freeze`](Self::freeze) follows at once.
    pub fn thaw(&self) {
        self.shared.freeze.thaw();
    }

    /// Refuses new connections and resets the existing ones. When this returns, that is done, and what was not executed never will be.
    pub async fn refuse(&self) {
        self.listening.refuse().await;
    }

    /// Accepts connections again, at the same address. Does nothing if the server does not refuse.
    ///
    /// # Errors
    ///
    /// If the port cannot be bound again, which is so while a [`refuse`](Self::refuse) is under way.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn accept_again(&self) -> io::Result<()> {
        self.listening.accept_again(&self.shared)
    }
}

/// What happened so far.
impl FaultyServer {
    /// All executions, in their order.
    #[must_use]
    pub fn executions(&self) -> Vec<Execution> {
        self.shared.log.snapshot()
    }

    /// How often the request with this id was executed.
    #[must_use]
    pub fn executed(&self, request_id: &str) -> usize {
        self.shared.log.count(request_id)
    }

    /// The ids of the requests that were executed more than once.
    #[must_use]
    pub fn executed_twice(&self) -> Vec<String> {
        self.shared.log.repeated()
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections_accepted(&self) -> usize {
        self.shared.counts.connections.value()
    }

    /// How many connections are open: accepted, and as far as the server has seen, ended by neither side.
    #[must_use]
    pub fn connections_open(&self) -> usize {
        self.shared.counts.open.value()
    }

    /// How many TLS handshakes were begun: the client's first message was read, whatever came of it.
    #[must_use]
    pub fn handshakes(&self) -> usize {
        self.shared.counts.handshakes.value()
    }

    /// How many TLS handshakes were completed: the client, too, was content.
    #[must_use]
    pub fn handshakes_completed(&self) -> usize {
        self.shared.counts.handshakes_completed.value()
    }

    /// How many requests were read to their end.
    #[must_use]
    pub fn requests_read(&self) -> usize {
        self.shared.counts.read.value()
    }

    /// How many requests are held: read, and not executed before a thaw.
    #[must_use]
    pub fn requests_held(&self) -> usize {
        self.shared.counts.held.value()
    }

    /// How many requests were executed.
    #[must_use]
    pub fn requests_executed(&self) -> usize {
        self.shared.log.len()
    }

    /// How many requests the client has given up with an `RST_STREAM`, as far as the server has seen: it watches while it reads or holds
    /// a request, or delays an answer.
    #[must_use]
    pub fn requests_cancelled(&self) -> usize {
        self.shared.counts.cancelled.value()
    }

    /// To how many idle connections the server has said goodbye, by [`AnswerThenTimeOut`](super::Act::AnswerThenTimeOut).
    #[must_use]
    pub fn connections_timed_out(&self) -> usize {
        self.shared.counts.timed_out.value()
    }

    /// How many HTTP/2 streams were refused, by an act or because there were too many at a time.
    #[must_use]
    pub fn streams_refused(&self) -> usize {
        self.shared.counts.refused.value()
    }
}

/// Events. Dropping one of these futures has no effect.
impl FaultyServer {
    /// Waits until at least `number` connections were accepted.
    pub async fn wait_until_connections(&self, number: usize) {
        self.shared.counts.connections.at_least(number).await;
    }

    /// Waits for a moment at which exactly `number` connections are open.
    pub async fn wait_until_open(&self, number: usize) {
        self.shared.counts.open.exactly(number).await;
    }

    /// Waits until at least `number` TLS handshakes were begun.
    pub async fn wait_until_handshakes(&self, number: usize) {
        self.shared.counts.handshakes.at_least(number).await;
    }

    /// Waits until at least `number` TLS handshakes were completed. A client may be content before the server is.
    pub async fn wait_until_handshakes_completed(&self, number: usize) {
        self.shared.counts.handshakes_completed.at_least(number).await;
    }

    /// Waits until at least `number` requests were read to their end.
    pub async fn wait_until_read(&self, number: usize) {
        self.shared.counts.read.at_least(number).await;
    }

    /// Waits for a moment at which at least `number` requests are held.
    pub async fn wait_until_held(&self, number: usize) {
        self.shared.counts.held.at_least(number).await;
    }

    /// Waits until at least `number` requests were executed, and the application has returned from them.
    pub async fn wait_until_executed(&self, number: usize) {
        self.shared.counts.executed.at_least(number).await;
    }

    /// Waits until the client has given at least `number` requests up with an `RST_STREAM`.
    pub async fn wait_until_cancelled(&self, number: usize) {
        self.shared.counts.cancelled.at_least(number).await;
    }

    /// Waits until at least `number` HTTP/2 streams were refused. The frame is on its way then, unless something holds it back.
    pub async fn wait_until_refused(&self, number: usize) {
        self.shared.counts.refused.at_least(number).await;
    }

    /// Waits until the server has said goodbye to at least `number` idle connections, by
    /// [`AnswerThenTimeOut`](super::Act::AnswerThenTimeOut): the goodbye is written.
    pub async fn wait_until_timed_out(&self, number: usize) {
        self.shared.counts.timed_out.at_least(number).await;
    }
}

impl fmt::Debug for FaultyServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FaultyServer")
            .field("address", &self.address())
            .field("freeze", &self.shared.freeze)
            .field("counts", &self.shared.counts)
            .finish_non_exhaustive()
    }
}
