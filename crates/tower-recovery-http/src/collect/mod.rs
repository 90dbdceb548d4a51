//! [`CollectLayer`]: the body of a unary answer belongs to its attempt.
//!
//! A status is no answer yet: a connection that breaks in the middle of the body has lost the result. This layer collects the body,
//! bounded, inside the attempt, so that the attempt's timeout covers it and a short one is classified like any other failure.
//!
//! **When**: for unary calls. **Not** for streams, whose bodies outlive the call. **Where**: below
//! [`AttemptTimeoutLayer`](tower_recovery::AttemptTimeoutLayer), directly above [`Dispatch`](tower_recovery::Dispatch).
//!
//! # Examples
//!
//! ```
//! use std::time::Duration;
//! use tower::ServiceBuilder;
//! use tower_recovery::{AttemptTimeoutLayer, ClassifyLayer, Dispatch};
//! use tower_recovery_http::{CollectLayer, HttpClassifier};
//!
//! let leaf = ServiceBuilder::new()
//!     .layer(ClassifyLayer::new(HttpClassifier::new()))
//!     .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
//!     .layer(CollectLayer::new(1 << 20))
//!     .service(Dispatch);
//! # let _ = leaf;
//! ```
//!
//! # Readiness
//!
//! That of the inner service.
//!
//! # Cancel safety
//!
//! Dropping the future drops the response and with it the connection.
//!
//! # Errors
//!
//! [`IncompleteBody`] where the body broke, [`BodyTooLong`] where it is over the limit, or the inner error, boxed.

mod future;
mod layer;
mod service;

use http::StatusCode;
use tower::BoxError;

pub use self::{future::CollectFuture, layer::CollectLayer, service::Collect};

/// The head of an answer came, but not the whole of its body.
#[derive(Debug, thiserror::Error)]
#[error("the body of an answer with status {status} is incomplete")]
#[non_exhaustive]
pub struct IncompleteBody {
    /// The status of the head.
    pub status: StatusCode,
    /// What ended the body.
    pub source: BoxError,
}

/// The body of an answer is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body of an answer with status {status} is longer than the limit of {limit} bytes")]
#[non_exhaustive]
pub struct BodyTooLong {
    /// The status of the head.
    pub status: StatusCode,
    /// The limit in bytes.
    pub limit: usize,
}
