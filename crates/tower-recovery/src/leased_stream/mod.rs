//! [`LeasedStreamLayer`]: a stream indicts the handle that it came from when it breaks.
//!
//! The layers above see how a call ends, and not how its stream does. A stream that breaks in the middle says as much against its handle as a call that fails: so
//! the stream keeps the lease of its attempt, says what its error proves, and evicts the handle if that indicts it.
//!
//! **When**: where answers are streams, and handles come from a [`HandleCache`](crate::HandleCache). **Where**: right above [`Dispatch`](crate::Dispatch), below
//! [`AttemptTimeoutLayer`](crate::AttemptTimeoutLayer). Adapters have their own for bodies.
//!
//! # Examples
//!
//! ```
//! # use std::error::Error;
//! use tower::ServiceBuilder;
//! use tower_recovery::{Classify, Dispatch, LeasedStreamLayer, Verdict};
//!
//! #[derive(Clone)]
//! struct LostStreams;
//!
//! impl<Response> Classify<Response> for LostStreams {
//!     fn response(&self, _: &Response) -> Option<Verdict> {
//!         None
//!     }
//!
//!     fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
//!         if error.is::<std::io::Error>() { Verdict::maybe_sent().stale() } else { Verdict::unrecognised() }
//!     }
//! }
//!
//! let leaf = ServiceBuilder::new().layer(LeasedStreamLayer::new(LostStreams)).service(Dispatch);
//! # let _ = leaf;
//! ```
//!
//! # Readiness
//!
//! That of the inner service.
//!
//! # Cancel safety
//!
//! Dropping the stream drops the inner one, and says nothing against the handle.
//!
//! # Errors
//!
//! Each error of a stream becomes a [`Failure`](crate::Failure) with the lease of its attempt; the stream is over then.

mod future;
mod layer;
mod service;
mod stream;

pub use self::{future::LeasedStreamFuture, layer::LeasedStreamLayer, service::LeasedStreams, stream::LeasedStream};
