//! [`CollectLayer`]: the body of a unary answer belongs to its attempt.
//!
//! A status is no answer yet: a connection that breaks in the middle of the body has lost the result. This layer collects the body,
//! bounded, its trailers too, inside the attempt, so that the attempt's timeout covers it and a short one is classified like any other failure.
//!
//! A body is short if the transport says so, and also if it ends cleanly where this is no end: before the length that its head promised, or, over HTTP/2 and
//! without a length, by a reset with `NO_ERROR`. See [`body_end`](crate::body_end). What is closed by the end of its connection and promised no length cannot be
//! checked, and is taken for whole.
//!
//! A client of your own whose bodies do not say that they are at their end needs [`trust_clean_ends`](CollectLayer::trust_clean_ends).
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

mod error;
mod future;
mod layer;
mod method;
mod service;
mod whole;

pub use self::{
    error::{BodyTooLong, IncompleteBody},
    future::CollectFuture,
    layer::CollectLayer,
    method::HasMethod,
    service::Collect,
    whole::Whole,
};
