//! Named scenarios with exact numbers, on the paused clock: thousands of callers on one eviction, on one budget, under a resolver that
//! does all that a resolver may do, and under two owners of one retry.

mod budget;
mod eviction;
mod nested;
mod resolvers;

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tower::{BoxError, Service, ServiceBuilder, util::BoxCloneSyncService};
use tower_recovery::{
    AttemptTimeoutLayer, Classify, ClassifyLayer, Dispatch, Failure, HandleCache, HandleCacheBuilder, LinearBackoff,
    NamedRules, ReadMethods, ReadOnlyRetryLayer, ReresolveLayer, Resolved, ShareBudget, Verdict, sources,
};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

const READ: &str = "list";
const WRITE: &str = "commit";

type Stack = BoxCloneSyncService<&'static str, &'static str, Failure>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("the socket was closed before the answer came")]
    Lost,
    #[error("the instance died before it answered")]
    Died,
    #[error("nobody listens there")]
    Absent,
}

#[derive(Clone)]
struct Faults;

impl<Response> Classify<Response> for Faults {
    fn response(&self, _: &Response) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        match sources(error).find_map(|link| link.downcast_ref()) {
            Some(Fault::Lost) => Verdict::maybe_sent(),
            Some(Fault::Died) => Verdict::maybe_sent().stale(),
            Some(Fault::Absent) => Verdict::never_sent().stale(),
            None => Verdict::unrecognised(),
        }
    }
}

/// What a handle points to. All its clones are the same instance.
#[derive(Clone, Debug)]
struct Instance {
    behaves: fn(&'static str) -> Result<&'static str, Fault>,
    calls: Arc<AtomicUsize>,
    gate: Gate,
}

impl Instance {
    /// It does this with each call, and at once.
    fn new(behaves: fn(&'static str) -> Result<&'static str, Fault>) -> Self {
        let gate = Gate::new();
        gate.open();
        Self { behaves, calls: Arc::default(), gate }
    }

    /// The same, once the gate is open.
    fn behind(self, gate: &Gate) -> Self {
        Self { gate: gate.clone(), ..self }
    }

    fn calls(&self) -> usize {
        self.calls.load(Relaxed)
    }
}

impl Service<&'static str> for Instance {
    type Response = &'static str;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<&'static str, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, method: &'static str) -> Self::Future {
        self.calls.fetch_add(1, Relaxed);
        let (behaves, gate) = (self.behaves, self.gate.clone());
        Box::pin(async move {
            gate.opened().await;
            behaves(method).map_err(Into::into)
        })
    }
}

fn resolved(identity: &'static str, instance: &Instance) -> Step<Resolved<Instance>> {
    Step::resolved(identity, instance.clone())
}

const FLOOR: Duration = Duration::from_millis(100);
const FLOOR_CEILING: Duration = Duration::from_secs(1);
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

fn cache_of(resolver: &ScriptedResolver<Instance>) -> HandleCacheBuilder<Instance> {
    HandleCache::builder(resolver.clone(), "service")
        .resolve_floor(FLOOR, FLOOR_CEILING)
        .resolve_timeout(RESOLVE_TIMEOUT)
}

/// Three attempts, no deadline.
fn stack<Handle>(cache: HandleCache<Handle>, budget: &Arc<ShareBudget>) -> Stack
where
    Handle: Service<&'static str, Response = &'static str> + Clone + Send + Sync + 'static,
    Handle::Error: Into<BoxError> + Send,
    Handle::Future: Send,
{
    let reads = ReadMethods::new().read(READ);
    let rules = NamedRules::new(|method: &&'static str| *method, reads).copied_by(|method| Some(*method));
    let stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules).backoff(LinearBackoff::new(PAUSE, 2 * PAUSE)).budget(Arc::clone(budget)))
        .layer(ReresolveLayer::new(cache))
        .layer(ClassifyLayer::new(Faults))
        .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
        .service(Dispatch);
    BoxCloneSyncService::new(stack)
}

fn budget(percent: u32, reserve: u32) -> Arc<ShareBudget> {
    let budget = ShareBudget::builder().percent(percent).reserve(reserve).ceiling(1_000_000).build();
    Arc::new(budget.expect("the numbers of the tests are valid"))
}
