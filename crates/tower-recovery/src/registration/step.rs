//! One step of a probe: its name, its bound, and what can become of it.

use std::{error::Error, fmt, future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio::time::timeout;
use tower::BoxError;

use crate::{Failure, Verdict};

/// A step of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RebuildStep {
    /// Closing the old connection. If that fails or takes too long, the connection is dropped and the rebuild goes on.
    Close,
    /// Connecting under the same id.
    Connect,
    /// Registering over the new connection.
    Register,
}

impl fmt::Display for RebuildStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Close => "close",
            Self::Connect => "connect",
            Self::Register => "register",
        })
    }
}

/// Why a step came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Failed(BoxError),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("the registrar panicked")]
    Panicked,
}

impl StepError {
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Failed(error) => {
                let error: &(dyn Error + 'static) = error.as_ref();
                Failure::verdict_within(error).is_some_and(Verdict::is_permanent)
            }
            Self::TimedOut(_) | Self::Panicked => false,
        }
    }
}

/// One step, its time bounded and its panic caught, that of its dropping included.
pub(super) async fn bounded<Done, Failed: Into<BoxError>>(
    limit: Duration,
    step: impl Future<Output = Result<Done, Failed>>,
) -> Result<Done, StepError> {
    let step = async move { timeout(limit, step).await };
    match AssertUnwindSafe(step).catch_unwind().await {
        Ok(Ok(Ok(done))) => Ok(done),
        Ok(Ok(Err(error))) => Err(StepError::Failed(error.into())),
        Ok(Err(_elapsed)) => Err(StepError::TimedOut(limit)),
        Err(_panic) => Err(StepError::Panicked),
    }
}
