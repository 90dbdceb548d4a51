//! Why there is no handle.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use tower::BoxError;

use crate::{Failure, Verdict};

/// Why a resolve gave no handle. Every waiter of one resolve gets the same error, shared by pointer.
///
/// A call that fails by it was never sent: it is the source of a [`Failure`] with
/// [`NeverSent`](crate::Delivery::NeverSent), so that a registry's own "not found" is not taken for the service's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ResolveError {
    /// The resolver, or its `poll_ready`, gave this error.
    Failed(Arc<dyn Error + Send + Sync>),
    /// The resolver did not answer in time.
    TimedOut(Duration),
    /// The resolver panicked. The panic is caught, so that it takes down no caller.
    Panicked,
}

impl ResolveError {
    pub(super) fn failed(error: BoxError) -> Self {
        Self::Failed(Arc::from(error))
    }

    /// Whether the resolver says, by a [`Failure`] of its own, that the next resolve will fail in the same way.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Failed(error) => Failure::verdict_within(error.as_ref()).is_some_and(Verdict::is_permanent),
            Self::TimedOut(_) | Self::Panicked => false,
        }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(_) => formatter.write_str("the resolver failed"),
            Self::TimedOut(limit) => write!(formatter, "the resolver did not answer within {limit:?}"),
            Self::Panicked => formatter.write_str("the resolver panicked"),
        }
    }
}

/// By hand, so that the source is the resolver's error itself and not the `Arc` around it, which could not be downcast.
impl Error for ResolveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error.as_ref()),
            Self::TimedOut(_) | Self::Panicked => None,
        }
    }
}
