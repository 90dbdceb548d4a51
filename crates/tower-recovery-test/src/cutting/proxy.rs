//! The handle of a running proxy: its switches, its counts and its events.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use super::{CuttingScript, Direction, Plan, shared::Shared};
use crate::listening::Listening;

/// A TCP proxy that disturbs connections by a script: see the [module docs](super).
///
/// Dropping it ends the proxy: its tasks are aborted and its sockets are closed as soon as the runtime comes to it.
pub struct CuttingProxy {
    listening: Listening,
    shared: Arc<Shared>,
}

/// Builds a [`CuttingProxy`].
#[must_use = "a builder does nothing until it is started"]
pub struct CuttingProxyBuilder {
    upstream: SocketAddr,
    script: Box<dyn CuttingScript>,
}

impl CuttingProxyBuilder {
    /// Sets what goes wrong: a list of [`Plan`]s, a closure, or another [`CuttingScript`]. By default nothing does.
    pub fn script(mut self, script: impl CuttingScript) -> Self {
        self.script = Box::new(script);
        self
    }

    /// Starts the proxy on a free port of 127.0.0.1, on the current tokio runtime. Whether somebody listens upstream is not asked yet.
    ///
    /// # Errors
    ///
    /// If no socket can be bound.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with I/O and time enabled.
    pub async fn start(self) -> io::Result<CuttingProxy> {
        let shared = Arc::new(Shared { upstream: self.upstream, script: self.script, counts: Default::default() });
        Ok(CuttingProxy { listening: Listening::start(&shared)?, shared })
    }
}

impl CuttingProxy {
    /// Starts to describe a proxy that stands before this address.
    pub fn before(upstream: SocketAddr) -> CuttingProxyBuilder {
        CuttingProxyBuilder { upstream, script: Box::new(Vec::<Plan>::new()) }
    }

    /// Where the proxy listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Where the proxy listens, as an origin: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address())
    }
}

/// Switches.
impl CuttingProxy {
    /// Ends all freezes that are in force; those that come later wait for the next thaw.
    pub fn thaw(&self) {
        self.shared.counts.thaws.increment();
    }

    /// Refuses new connections and resets the existing ones, both sides of each. When this returns, that is done.
    pub async fn refuse(&self) {
        self.listening.refuse().await;
    }

    /// Accepts connections again, at the same address. Does nothing if the proxy does not refuse.
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
impl CuttingProxy {
    /// How many connections were accepted.
    #[must_use]
    pub fn connections_accepted(&self) -> usize {
        self.shared.counts.connections.value()
    }

    /// How many connections are open: accepted, and neither cut off nor, as far as the proxy has seen, ended by both sides.
    #[must_use]
    pub fn connections_open(&self) -> usize {
        self.shared.counts.open.value()
    }

    /// How many connections were cut by the script, at their acceptance or later.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.shared.counts.cuts.value()
    }

    /// How many freezes are in force. One of both directions is one.
    #[must_use]
    pub fn frozen(&self) -> usize {
        self.shared.counts.frozen.value()
    }

    /// How many bytes were forwarded in this direction, over all connections.
    #[must_use]
    pub fn forwarded(&self, direction: Direction) -> usize {
        self.shared.counts.bytes(direction).value()
    }
}

/// Events. Dropping one of these futures has no effect.
impl CuttingProxy {
    /// Waits until at least `number` connections were accepted.
    pub async fn wait_until_connections(&self, number: usize) {
        self.shared.counts.connections.at_least(number).await;
    }

    /// Waits for a moment at which exactly `number` connections are open.
    pub async fn wait_until_open(&self, number: usize) {
        self.shared.counts.open.exactly(number).await;
    }

    /// Waits until at least `number` connections were cut.
    pub async fn wait_until_cuts(&self, number: usize) {
        self.shared.counts.cuts.at_least(number).await;
    }

    /// Waits for a moment at which at least `number` freezes are in force.
    pub async fn wait_until_frozen(&self, number: usize) {
        self.shared.counts.frozen.at_least(number).await;
    }

    /// Waits until at least `bytes` bytes were forwarded in this direction, over all connections.
    pub async fn wait_until_forwarded(&self, direction: Direction, bytes: usize) {
        self.shared.counts.bytes(direction).at_least(bytes).await;
    }
}

impl fmt::Debug for CuttingProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CuttingProxy")
            .field("address", &self.address())
            .field("upstream", &self.shared.upstream)
            .field("counts", &self.shared.counts)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CuttingProxyBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CuttingProxyBuilder").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
