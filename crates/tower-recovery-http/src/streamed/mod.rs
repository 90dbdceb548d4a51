//! [`StreamedLayer`]: a body that outlives its call still answers for its handle.
//!
//! Where answers are read as they come, the call has ended long before the body does, and no layer sees how. This layer wraps the body:
//!
//! - *An error of the body* leaves it as a [`Failure`](tower_recovery::Failure) that says what it proves: after a 2xx head, that the request may have been
//!   executed; after any other head, what the status proves. Where the transport is to blame, the handle is indicted at that moment, by the
//!   [`Lease`](tower_recovery::Lease) that the failure carries: the next call resolves the name again. A late break on an old handle evicts nothing.
//! - *A clean end that is none* is an error, too. hyper ends an HTTP/2 stream that the peer resets with `NO_ERROR` like a whole one, and a body of HTTP/1 that
//!   has neither length nor chunks ends with its connection, whatever ended that. See [`body_end`](crate::body_end).
//!
//! **When**: for answers whose bodies outlive the call. **Not** for unary calls, whose bodies [`CollectLayer`](crate::CollectLayer) collects inside the attempt. **Where**:
//! below [`AttemptTimeoutLayer`](tower_recovery::AttemptTimeoutLayer), directly above [`Dispatch`](tower_recovery::Dispatch).
//!
//! # Examples
//!
//! ```
//! use std::time::Duration;
//! use tower::ServiceBuilder;
//! use tower_recovery::{AttemptTimeoutLayer, ClassifyLayer, Dispatch};
//! use tower_recovery_http::{HttpClassifier, StreamedLayer};
//!
//! let classifier = HttpClassifier::new();
//! let leaf = ServiceBuilder::new()
//!     .layer(ClassifyLayer::new(classifier.clone()))
//!     .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
//!     .layer(StreamedLayer::new(classifier))
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
//! Dropping the future or the body drops what is inside, and evicts nothing.
//!
//! # Errors
//!
//! Of the call: the inner error, boxed. Of the body: always a [`Failure`](tower_recovery::Failure), after which it has ended.
//!
//! # Allocations
//!
//! None, until the body breaks.

mod body;
mod future;
mod layer;
mod service;

pub use self::{body::StreamedBody, future::StreamedFuture, layer::StreamedLayer, service::Streamed};
