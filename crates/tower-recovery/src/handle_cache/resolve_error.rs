//! Why there is no handle.

use std::{error::Error, sync::Arc, time::Duration};

use tower::BoxError;

/// Why a resolve gave no handle. Every waiter of one resolve gets the same error, shared by pointer.
///
/// A call that fails by it was never sent: it is the source of a [`Failure`](crate::Failure) with
/// [`NeverSent`](crate::Delivery::NeverSent), so that a registry's own "not found" is not taken for the service's.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The resolver, or its `poll_ready`, gave this error.
    #[error("the resolver failed")]
    Failed(#[source] Arc<dyn Error + Send + Sync>),
    /// The resolver did not answer in time.
    #[error("the resolver did not answer within {0:?}")]
    TimedOut(Duration),
    /// The resolver panicked. The panic is caught, so that it takes down no caller.
    #[error("the resolver panicked")]
    Panicked,
}

impl ResolveError {
    pub(super) fn failed(error: BoxError) -> Self {
        Self::Failed(Arc::from(error))
    }
}
