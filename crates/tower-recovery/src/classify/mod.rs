//! [`ClassifyLayer`]: says what an error, or an answer, proves.
//!
//! **When**: in every stack, with the classifier of the adapter, or one of your own for a protocol of your own. **Where**: below
//! [`ReresolveLayer`](crate::ReresolveLayer), which acts on what it says, and above
//! [`AttemptTimeoutLayer`](crate::AttemptTimeoutLayer). It changes nothing where an answer is just an answer.
//!
//! # Examples
//!
//! A protocol of your own whose errors say where they arose, and whose answers may be "not here":
//!
//! ```
//! use std::error::Error;
//! use tower_recovery::{Classify, Verdict};
//!
//! #[derive(Debug, thiserror::Error)]
//! enum RpcError {
//!     #[error("the socket was closed before the request was written")] NotWritten,
//!     #[error("the socket was closed before the answer came")] Lost,
//! }
//!
//! enum Reply { Value(u64), NotHere }
//!
//! #[derive(Clone)]
//! struct RpcErrors;
//!
//! impl Classify<Reply> for RpcErrors {
//!     fn response(&self, reply: &Reply) -> Option<Verdict> {
//!         matches!(reply, Reply::NotHere).then(|| Verdict::refused().stale())
//!     }
//!
//!     fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
//!         match error.downcast_ref() {
//!             Some(RpcError::NotWritten) => Verdict::never_sent().stale(),
//!             Some(RpcError::Lost) => Verdict::maybe_sent().stale(),
//!             None => Verdict::unrecognised(),
//!         }
//!     }
//! }
//! ```
//!
//! # Readiness
//!
//! That of the inner service. An error there is `NeverSent`, whatever the classifier would say.
//!
//! # Cancel safety
//!
//! Dropping the future drops the inner one; nothing of its own is in flight.
//!
//! # Errors
//!
//! Always a [`Failure`](crate::Failure). One that comes from below, and tower's own errors, are not shown to the classifier: what they prove is known.
//! That holds for the error itself. A failure that stands deeper in the chain of sources may be about another request (a handle that makes requests of
//! its own, a request body that is read from another client): the classifier is asked first, and if it does not know the error, a send-side proof
//! from the depth counts as maybe sent.
//!
//! # Panics
//!
//! Only where the classifier does, in the call that it judges.

mod future;
mod layer;
mod service;

use std::error::Error;

pub use self::{future::ClassifyFuture, layer::ClassifyLayer, service::ClassifyService};
use crate::Verdict;

/// What the responses and errors of one protocol prove.
pub trait Classify<Response> {
    /// What this response proves, or `None` where it is an answer like any other, which goes out as it is.
    ///
    /// A [`refused`](Verdict::refused) response is repeated, and comes out unchanged when nothing more may be tried; an
    /// [`answered`](Verdict::answered) one that is [`stale`](Verdict::stale) goes out, and the handle is evicted.
    fn response(&self, response: &Response) -> Option<Verdict>;

    /// What this error proves. Walk the whole chain of sources: foreign layers wrap errors. A handle that makes several requests a call must give an error
    /// of its own that says which of them failed: a classifier that walks the chain takes a failed connect for this request's.
    ///
    /// A transport's own error that cannot be placed is [`maybe_sent`](Verdict::maybe_sent); one that is not the transport's is
    /// [`unrecognised`](Verdict::unrecognised).
    fn error(&self, error: &(dyn Error + 'static)) -> Verdict;
}
