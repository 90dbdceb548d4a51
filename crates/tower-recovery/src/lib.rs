//! tower layers that recover calls without ever repeating a write.
//!
//! A call fails, and the question is whether its request executed. These layers answer it by what the failure **proves**
//! ([`Delivery`]) and act on proof alone:
//!
//! ```text
//!  request
//!    │  StreamReplacementLayer stream routes only: one admitted stream, replaced within a budget
//!    │  ReadOnlyRetryLayer     repeats what may be repeated, silences what must be silent
//!    │  ReresolveLayer         attaches the current handle; evicts it when a failure indicts it
//!    │  ClassifyLayer          says what a failure, or an answer, proves
//!    │  AttemptTimeoutLayer    bounds an attempt; asks whether it was handed to the transport
//!    ▼  Dispatch               readies and calls the attached handle
//! ```
//!
//! The layers know no protocol. Adapters bring classifiers, rules and handles, and a front door that stacks the layers in the right
//! order; for a protocol of your own you write a [`Classify`] and [`RequestRules`], as here.
//!
//! The [`guide`] says how it thinks and how it is set.
//!
//! # Examples
//!
//! ```
//! use std::{error::Error, io, time::Duration};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_recovery::{
//!     AttemptTimeoutLayer, Classify, ClassifyLayer, Dispatch, HandleCache, NamedRules, ReadMethods, ReadOnlyRetryLayer,
//!     ReresolveLayer, Resolved, Verdict,
//! };
//!
//! #[derive(Clone)]
//! struct IoErrors;
//!
//! impl<Response> Classify<Response> for IoErrors {
//!     fn response(&self, _: &Response) -> Option<Verdict> {
//!         None
//!     }
//!
//!     fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
//!         match error.downcast_ref::<io::Error>().map(io::Error::kind) {
//!             Some(io::ErrorKind::ConnectionRefused) => Verdict::never_sent().stale(),
//!             Some(_) => Verdict::maybe_sent().stale(),
//!             None => Verdict::unrecognised(),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // The registry names a dead instance first, and the one that took its place when it is asked again.
//! let instances = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
//! let resolver = service_fn(move |name: &'static str| {
//!     let instance = instances.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
//!     let handle = service_fn(move |method: &'static str| async move {
//!         match instance {
//!             0 => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
//!             _ => Ok(format!("{method} done by instance {instance}")),
//!         }
//!     });
//!     async move { Ok::<_, io::Error>(Resolved::new(format!("{name}-{instance}"), handle)) }
//! });
//!
//! let reads = ReadMethods::new().read("list");
//! let rules = NamedRules::new(|method: &&'static str| *method, reads).copied_by(|method| Some(*method));
//! let stack = ServiceBuilder::new()
//!     .layer(ReadOnlyRetryLayer::new(rules))
//!     .layer(ReresolveLayer::new(HandleCache::new(resolver, "artifacts")))
//!     .layer(ClassifyLayer::new(IoErrors))
//!     .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
//!     .service(Dispatch);
//!
//! // A write, and it is repeated: the refused connection proves that it was never sent.
//! assert_eq!(stack.oneshot("commit").await.unwrap(), "commit done by instance 1");
//! # }
//! ```

mod attempt_scope;
pub mod attempt_timeout;
mod call_timing;
pub mod classify;
mod clock;
mod delivery;
pub mod dispatch;
mod event;
mod failure;
mod front_door;
pub mod guide;
mod handle_cache;
mod handover;
#[cfg(test)]
#[cfg(any(interleavings = "loom", interleavings = "shuttle"))]
mod interleavings;
mod invalid_setting;
mod lease;
pub mod leased_stream;
pub mod policy;
mod read_methods;
pub mod read_only_retry;
pub mod registration;
mod request_rules;
pub mod reresolve;
mod resolved;
mod retry_budget;
mod sources;
pub mod stream_replacement;
mod suspicion;
mod sync;
mod template;

pub use crate::{
    attempt_timeout::{AttemptTimedOut, AttemptTimeoutLayer},
    call_timing::{CallTiming, CallTimingBuilder},
    classify::{Classify, ClassifyLayer},
    delivery::{Delivery, Verdict},
    dispatch::{Addressed, Dispatch, NotReady},
    event::{GiveUp, Observer, RecoveryEvent},
    failure::Failure,
    front_door::Recovery,
    handle_cache::{Acquire, Generation, HandleCache, HandleCacheBuilder, Held, LookUp, ResolveError},
    handover::Handover,
    invalid_setting::InvalidSetting,
    lease::{Lease, Renewal},
    leased_stream::LeasedStreamLayer,
    policy::{RoutePolicy, RoutePolicyBuilder, StreamMode, StreamPolicy, StreamPolicyBuilder},
    read_methods::{Access, ReadMethods},
    read_only_retry::{DeadlineExceeded, LinearBackoff, ReadOnlyRetryLayer},
    registration::{RegistrationMonitor, RegistrationProbe},
    request_rules::{NamedRules, RequestRules, SendSideOnly},
    reresolve::ReresolveLayer,
    resolved::{Identity, Resolved},
    retry_budget::{RetryBudget, RetryPermit, ShareBudget, ShareBudgetBuilder, TowerBudget},
    sources::sources,
    stream_replacement::{StreamReplacementLayer, StreamRules},
    suspicion::HandleSuperseded,
};
