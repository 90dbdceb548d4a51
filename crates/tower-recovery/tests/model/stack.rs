//! The real stacks that the scripts run.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tower::{
    BoxError, Service, ServiceBuilder, ServiceExt,
    buffer::Buffer,
    layer::layer_fn,
    limit::ConcurrencyLimitLayer,
    util::{BoxCloneSyncService, Either},
};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, ClassifyLayer, Dispatch, Failure, HandleCache, LinearBackoff, ReadOnlyRetryLayer,
    ReresolveLayer, ShareBudget,
};

use crate::{
    protocol::{Call, Protocol, Reply, rules},
    record::{Event, Record},
    reference::Settings,
    world::{Handle, World},
};

pub(crate) type Boxed = BoxCloneSyncService<Call, Reply, Failure>;

/// The task of a buffer, to be polled by hand.
pub(crate) type Worker = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A stack, and what can be seen of it from beside.
pub(crate) struct Stack {
    pub(crate) service: Boxed,
    pub(crate) worker: Option<Worker>,
    pub(crate) cache: HandleCache<Handle>,
    pub(crate) budget: Arc<ShareBudget>,
}

pub(crate) fn build(settings: &Settings, world: &World, record: &Record) -> Stack {
    let millis = |millis: u64| Duration::from_millis(millis);
    let cache = HandleCache::builder(world.resolver(), ())
        .resolve_timeout(millis(settings.resolve_timeout))
        .resolve_floor(millis(settings.floor_step), millis(settings.floor_ceiling))
        .observer(record.observer())
        .build();
    let budget = ShareBudget::builder()
        .percent(settings.percent)
        .reserve(settings.reserve)
        .ceiling(settings.ceiling)
        .build()
        .expect("the settings of the tests are valid");
    let budget = Arc::new(budget);
    let mut timing =
        CallTiming::builder().attempts(settings.attempts).attempt_timeout(millis(settings.attempt_timeout));
    if let Some(deadline) = settings.deadline {
        timing = timing.deadline(millis(deadline));
    }
    let timing = timing.build().expect("the settings of the tests are valid");
    let retry = ReadOnlyRetryLayer::new(rules())
        .timing(timing)
        .backoff(LinearBackoff::new(millis(settings.pause_step), millis(settings.pause_ceiling)))
        .budget(Arc::clone(&budget))
        .observer(record.observer());
    let limit = match settings.slots {
        Some(slots) => Either::Left(ConcurrencyLimitLayer::new(slots)),
        None => Either::Right(tower::layer::util::Identity::new()),
    };

    let probe_record = record.clone();
    let stack = ServiceBuilder::new()
        .layer(retry)
        .layer(layer_fn(move |inner| Probe { inner, record: probe_record.clone(), asked: false }))
        .layer(limit)
        .layer(ReresolveLayer::new(cache.clone()))
        .layer(ClassifyLayer::new(Protocol))
        .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
        .service(Dispatch);
    if settings.buffered {
        let (buffer, worker) = Buffer::pair(stack, 1_024);
        let service = BoxCloneSyncService::new(buffer.map_err(|error: BoxError| Failure::recover(error)));
        Stack { service, worker: Some(Box::pin(worker)), cache, budget }
    } else {
        Stack { service: BoxCloneSyncService::new(stack), worker: None, cache, budget }
    }
}

/// Writes down what the retry layer asks and sends, and minds being called unready.
struct Probe<Inner> {
    inner: Inner,
    record: Record,
    asked: bool,
}

/// A clone starts unready.
impl<Inner: Clone> Clone for Probe<Inner> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), record: self.record.clone(), asked: false }
    }
}

impl<Inner: Service<Call>> Service<Call> for Probe<Inner> {
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = Inner::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Inner::Error>> {
        if !std::mem::replace(&mut self.asked, true) {
            self.record.write(Event::Asked);
        }
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: Call) -> Inner::Future {
        assert!(std::mem::take(&mut self.asked), "an instance was called unready");
        self.record.write(Event::Called { call: call.id, silent: call.silent });
        self.inner.call(call)
    }
}
