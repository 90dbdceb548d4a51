//! From a request that was read to its response: what holds it back, its entry in the log, and the application.

use bytes::Bytes;
use http::{Request, Response};
use tokio::time::sleep;

use super::{Act, RequestContext, Until, freeze::BeforeThaw, shared::Shared, until::Wait};

/// A request that was read to its end.
pub(super) struct Received {
    pub(super) request: Request<Bytes>,
    pub(super) context: RequestContext,
    before_read: BeforeThaw,
}

/// A request that was executed.
pub(super) struct Executed {
    pub(super) response: Response<Bytes>,
    pub(super) before_run: BeforeThaw,
}

/// How a protocol waits with a request in hand.
pub(super) trait Waiting {
    /// Waits for the event, and watches meanwhile whether the client gives up. If it does, the wait goes on.
    fn wait(&mut self, event: impl Future<Output = ()> + Send) -> impl Future<Output = ()> + Send;

    /// Reads and writes nothing from here on until the wait is over.
    fn freeze_connection(&mut self, wait: Wait);
}

impl Received {
    pub(super) fn new(request: Request<Bytes>, context: RequestContext, shared: &Shared) -> Self {
        // Taken before the count, so that a thaw by who waited for the count comes after it.
        let before_read = shared.freeze.now();
        shared.counts.read.increment();
        Self { request, context, before_read }
    }

    /// Executes the request and waits, as the act wants it; `None` if the act does not run it.
    pub(super) async fn execute(&self, act: Act, shared: &Shared, waiting: &mut impl Waiting) -> Option<Executed> {
        let freeze = &shared.freeze;
        let enter = || shared.enter(&self.context);
        match act {
            Act::ReadThenClose | Act::ReadThenReset | Act::ReadThenResetStream { .. } | Act::ReadThenGoAway(_) => {
                begin(shared, waiting, || {}).await;
                return None;
            }
            Act::FreezeThenRun => {
                hold(shared, waiting, Wait::Thaw(self.before_read)).await;
                enter();
            }
            Act::FreezeConnectionThenRun { until } => {
                let wait = until.begin(self.before_read);
                waiting.freeze_connection(wait);
                hold(shared, waiting, wait).await;
                match until {
                    Until::Thaw => enter(),
                    _ => begin(shared, waiting, enter).await,
                }
            }
            Act::SlowThenRun { delay } => {
                waiting.wait(sleep(delay)).await;
                begin(shared, waiting, enter).await;
            }
            _ => begin(shared, waiting, enter).await,
        }
        let before_run = freeze.now();
        let frozen = match act {
            Act::RunThenFreezeConnection { until } => Some(until.begin(before_run)),
            _ => None,
        };
        // Before the execution, so that who waits for that finds the connection frozen.
        if let Some(wait) = frozen {
            waiting.freeze_connection(wait);
        }
        let response = shared.run(&self.request);
        match (act, frozen) {
            (_, Some(wait)) => waiting.wait(wait.over(freeze)).await,
            (Act::RunThenFreeze, _) => waiting.wait(freeze.thawed(before_run)).await,
            (Act::Slow { delay }, _) => waiting.wait(sleep(delay)).await,
            _ => {}
        }
        Some(Executed { response, before_run })
    }
}

/// Begins the act, held back first if the server is frozen.
pub(super) async fn begin(shared: &Shared, waiting: &mut impl Waiting, begin: impl Fn()) {
    if let Err(before_thaw) = shared.freeze.begin(&begin) {
        hold(shared, waiting, Wait::Thaw(before_thaw)).await;
        begin();
    }
}

async fn hold(shared: &Shared, waiting: &mut impl Waiting, wait: Wait) {
    let _held = shared.counts.held.enter();
    waiting.wait(wait.over(&shared.freeze)).await;
}
