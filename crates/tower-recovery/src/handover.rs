//! Whether an attempt's request was handed to the transport.

use std::{any::Any, pin::Pin};

/// A future that knows whether its request was handed to the transport.
///
/// [`Dispatch`](crate::Dispatch)'s future answers it, and the future of a layer between `Dispatch` and
/// [`AttemptTimeoutLayer`](crate::AttemptTimeoutLayer) forwards it: only then does a timeout prove something.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say whether its request was handed to the transport",
    note = "place this layer above `AttemptTimeoutLayer`, or forward `Handover` from its future"
)]
pub trait Handover {
    /// Whether the transport has, or may have, the request.
    fn is_handed_over(&self) -> bool;

    /// Takes the request back, its type erased, if the transport does not have it. After that the future must not be polled again.
    fn take_unsent(self: Pin<&mut Self>) -> Option<Box<dyn Any + Send>>;
}
