//! `ReadOnlyRetryLayer`: what is repeated and what never, when, how silently, and until when.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod backoff;
mod contract;
mod deadline;
mod dropping;
mod hand_back;
mod incomplete_copies;
mod permits;
mod proofs;
mod reports;
mod silence;
#[path = "../support/mod.rs"]
mod support;

use tower::{BoxError, Service, ServiceBuilder};
use tower_recovery::{CallTiming, ClassifyLayer, Failure, ReadOnlyRetryLayer};

use self::support::{Call, Protocol, Reply, ample, rules};

/// The retry over a classifier and nothing else: no handle, so no lease, so every repeat waits.
fn retrying<Inner>(
    inner: Inner,
    timing: CallTiming,
) -> impl Service<Call, Response = Reply, Error = Failure, Future: Send> + Clone + Send + 'static
where
    Inner: Service<Call, Response = Reply, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules()).timing(timing).budget(ample()))
        .layer(ClassifyLayer::new(Protocol))
        .service(inner)
}
