//! `LeasedStreamLayer`: a stream that breaks indicts the handle that it came from, long after its call has ended.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod contract;
mod evicting;
#[path = "../support/mod.rs"]
mod support;

use std::error::Error;

use tower::{BoxError, Service, ServiceBuilder};
use tower_recovery::{
    Classify, Dispatch, Failure, HandleCache, LeasedStreamLayer, ReresolveLayer, Verdict, leased_stream::LeasedStream,
};
use tower_recovery_test::{ScriptedResolver, ScriptedService, ScriptedStream, Step, StreamHandle};

use self::support::{Call, Protocol, Reply, resolver};

pub(crate) type Lines = ScriptedStream<&'static str>;
pub(crate) type Feeds<const STREAMS: usize> = [StreamHandle<&'static str>; STREAMS];
pub(crate) type Handle = ScriptedService<Call, Lines>;
pub(crate) type Leased = LeasedStream<Lines, Protocol>;

impl Classify<Lines> for Protocol {
    fn response(&self, _: &Lines) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        Classify::<Reply>::error(self, error)
    }
}

/// An instance that gives these streams, which the test feeds.
pub(crate) fn instance<const STREAMS: usize>() -> (Feeds<STREAMS>, Handle) {
    let handle = Handle::new([]);
    let feeds = std::array::from_fn(|_| {
        let (feed, stream) = Lines::pair();
        handle.push(Step::answer_once(stream));
        feed
    });
    (feeds, handle)
}

pub(crate) fn over<Handle>(
    cache: &HandleCache<Handle>,
) -> impl Service<Call, Response = Leased, Error = Failure, Future: Send> + Clone + Send + 'static
where
    Handle: Service<Call, Response = Lines, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    ServiceBuilder::new()
        .layer(ReresolveLayer::new(cache.clone()))
        .layer(LeasedStreamLayer::new(Protocol))
        .service(Dispatch)
}

/// Two instances, one after the other, and the streams of each.
pub(crate) fn two() -> (Feeds<2>, Feeds<2>, [Handle; 2], ScriptedResolver<Handle>) {
    let ((old_feeds, old), (new_feeds, new)) = (instance(), instance());
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    (old_feeds, new_feeds, [old, new], resolver)
}

pub(crate) fn live<Handle: Clone + Send + 'static>(cache: &HandleCache<Handle>) -> Option<u64> {
    cache.generation().map(tower_recovery::Generation::get)
}
