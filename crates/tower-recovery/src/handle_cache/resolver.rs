//! The user's resolver, its type erased, as the cache calls it.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::{Duration, Instant};
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::{LookUp, ResolveError, flight::Answer, state::Known};
use crate::{
    Resolved,
    sync::{AtomicBool, Mutex, Ordering, lock, sleep_until, timeout},
};

/// Makes one resolve, with what is known of the instances before it, on a clone of the resolver that is readied for it.
pub(super) type Resolve<Handle> = dyn Fn(Known) -> BoxFuture<'static, Result<Resolved<Handle>, BoxError>> + Send + Sync;

pub(super) fn erase<Resolver, Target, Handle>(resolver: Resolver, target: Target) -> Arc<Resolve<Handle>>
where
    Resolver: Service<LookUp<Target>, Response = Resolved<Handle>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send,
    Target: Clone + Send + 'static,
{
    // The mutex is for resolvers that are not `Sync`; it is held for the clone alone.
    let template = Mutex::new((resolver, target));
    Arc::new(move |Known { evicted, serving }| {
        let (resolver, target) = lock(&template).clone();
        resolver.oneshot(LookUp { target, evicted, serving }).map(|answer| answer.map_err(Into::into)).boxed()
    })
}

/// One resolve: not before `start` if there is one, and not longer than `limit` from then on. It says so when the resolver is asked, and learns by `ask` who was evicted until then, and who serves.
pub(super) async fn bounded<Handle>(
    resolve: Arc<Resolve<Handle>>,
    start: Option<Instant>,
    limit: Duration,
    asked: Arc<AtomicBool>,
    ask: impl FnOnce() -> Known,
) -> Answer<Handle> {
    if let Some(start) = start {
        sleep_until(start).await;
    }
    asked.store(true, Ordering::Relaxed);
    let known = ask();
    match timeout(limit, resolve(known)).await {
        Ok(Ok(resolved)) => Ok(resolved),
        Ok(Err(error)) => Err(ResolveError::failed(error)),
        Err(_elapsed) => Err(ResolveError::TimedOut(limit)),
    }
}
