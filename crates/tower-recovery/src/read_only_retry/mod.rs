//! [`ReadOnlyRetryLayer`]: repeats what may be repeated, and silences what must be silent.
//!
//! A call whose request provably did not execute is sent again whatever its method; one that may have executed only if its method is on the
//! list of reads; an answer never. A repeated read that counts (a view, a download) is asked to be silent, if and only if an earlier attempt of the
//! same call may have been counted.
//!
//! **When**: around every client whose failures a classifier can place. **Not** beside another retry: switch the client's own off.
//! **Where**: outermost, above [`ReresolveLayer`](crate::ReresolveLayer), whose leases tell it whether the handle has changed since. Layers that change the
//! response's type stand above it.
//!
//! # Examples
//!
//! Three attempts, no deadline:
//!
//! ```
//! use tower_recovery::{NamedRules, ReadMethods, ReadOnlyRetryLayer};
//!
//! let reads = ReadMethods::new().read("list_files").silent("read");
//! let rules = NamedRules::new(|method: &&'static str| *method, reads).copied_by(|method| Some(*method));
//! let layer = ReadOnlyRetryLayer::new(rules);
//! # let _ = layer;
//! ```
//!
//! Four attempts within ten seconds:
//!
//! ```
//! use std::time::Duration;
//! use tower::ServiceBuilder;
//! use tower_recovery::{AttemptTimeoutLayer, CallTiming, Dispatch, LinearBackoff, NamedRules, ReadMethods, ReadOnlyRetryLayer};
//!
//! # fn main() -> Result<(), tower_recovery::InvalidSetting> {
//! let timing = CallTiming::builder().attempts(4).deadline(Duration::from_secs(10)).build()?;
//! let rules = NamedRules::new(|method: &&'static str| *method, ReadMethods::new());
//! let retry = ReadOnlyRetryLayer::new(rules)
//!     .timing(timing)
//!     .backoff(LinearBackoff::new(Duration::from_millis(50), Duration::from_secs(1)));
//! let attempt = AttemptTimeoutLayer::new(timing.attempt_timeout());
//! # let _ = (retry, attempt);
//! # Ok(())
//! # }
//! ```
//!
//! # Readiness
//!
//! That of the inner service; the first attempt is called on the instance that was readied. A further attempt readies a clone,
//! inside the call and after the failed attempt is dropped, so its slot is free again; what backpressure it meets there is waited for in the call.
//!
//! # Cancel safety
//!
//! Dropping the future drops the attempt or the pause that it is in, and starts nothing more.
//!
//! # Errors
//!
//! The last [`Failure`], with the number of attempts and with what they prove together, and
//! [exhausted](crate::Failure::is_exhausted) where only the bounds of the call ended it. A refusal that outlives the attempts goes out as
//! the response that it is. At the deadline: [`DeadlineExceeded`] with the last failure, if there was one, as its source.
//!
//! # Panics
//!
//! Where a pause or a deadline needs a timer and there is no tokio runtime with one.

mod backoff;
mod decision;
mod future;
mod layer;
mod service;

use std::time::Duration;

pub use self::{
    backoff::LinearBackoff, future::ReadOnlyRetryFuture, layer::ReadOnlyRetryLayer, service::ReadOnlyRetry,
};
use crate::Failure;

/// The deadline of a call passed before it was done.
#[derive(Debug, thiserror::Error)]
#[error("the call was not done within its deadline of {deadline:?}")]
#[non_exhaustive]
pub struct DeadlineExceeded {
    /// How long the call was given.
    pub deadline: Duration,
    /// The failure of the last attempt that ended, if one did.
    #[source]
    pub last: Option<Failure>,
}
