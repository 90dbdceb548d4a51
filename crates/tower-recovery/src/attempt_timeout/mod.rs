//! [`AttemptTimeoutLayer`]: bounds one attempt, and knows what its end proves.
//!
//! **When**: in every stack. Without it a frozen peer holds a call for ever, and a deadline above
//! [`ReresolveLayer`](crate::ReresolveLayer) drops the call without evicting the handle, so that a dead handle stays.
//! **Where**: below [`ClassifyLayer`](crate::ClassifyLayer); what is below it, a response body that is collected included, is the attempt.
//!
//! `tower::timeout` cannot say whether the request was sent. This one asks the inner future, through
//! [`Handover`](crate::Handover): an attempt that ended while its handle was not ready yet is `NeverSent` and hands its request
//! back; any other is `MaybeSent`. Either way the handle is indicted.
//!
//! # Examples
//!
//! ```
//! use std::time::Duration;
//! use tower::ServiceBuilder;
//! use tower_recovery::{AttemptTimeoutLayer, Dispatch};
//!
//! let leaf = ServiceBuilder::new()
//!     .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
//!     .service(Dispatch);
//! # let _ = leaf;
//! ```
//!
//! # Readiness
//!
//! That of the inner service; waiting for it is not bounded here.
//!
//! # Cancel safety
//!
//! Dropping the future drops the attempt. The timer is armed when an attempt is pending for the first time, so that one
//! that ends at once reads no clock.
//!
//! # Errors
//!
//! A [`Failure`](crate::Failure) by [`AttemptTimedOut`], or the inner error, boxed.
//!
//! # Panics
//!
//! Where no tokio runtime with a timer is there to be used.

mod future;
mod layer;
mod service;

use std::time::Duration;

pub use self::{future::AttemptTimeoutFuture, layer::AttemptTimeoutLayer, service::AttemptTimeout};

/// An attempt had no answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the attempt had no answer within {limit:?} ({})", if *.handed_over { "its request was handed to the transport" } else { "its handle was not ready" })]
#[non_exhaustive]
pub struct AttemptTimedOut {
    /// How long the attempt was given.
    pub limit: Duration,
    /// Whether the request had been handed to the transport.
    pub handed_over: bool,
}
