//! One step of a probe: its name, its bound, and what can become of it.

use std::{
    error::Error,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::time::timeout;
use tower::BoxError;

use crate::{Failure, Verdict, event::text};

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
    #[error("{cause}")]
    Failed { cause: String, permanent: bool },
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("the registrar panicked")]
    Panicked,
}

impl StepError {
    fn failed(error: &(dyn Error + 'static)) -> Self {
        let permanent = Failure::verdict_within(error).is_some_and(Verdict::is_permanent);
        let cause = catch_unwind(AssertUnwindSafe(|| text(error)));
        Self::Failed { cause: cause.unwrap_or_else(|_| String::from("an error that cannot be shown")), permanent }
    }

    pub(super) fn is_permanent(&self) -> bool {
        matches!(self, Self::Failed { permanent: true, .. })
    }
}

/// One step, its time bounded and its panic caught, that of its dropping included. So are those of its error, which is the registrar's own as well: it is told, and
/// dropped, in here.
pub(super) async fn bounded<Done, Failed: Into<BoxError>>(
    limit: Duration,
    step: impl Future<Output = Result<Done, Failed>>,
) -> Result<Done, StepError> {
    let step = async move {
        match timeout(limit, step).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                let error: BoxError = error.into();
                Err(StepError::failed(error.as_ref()))
            }
            Err(_elapsed) => Err(StepError::TimedOut(limit)),
        }
    };
    AssertUnwindSafe(step).catch_unwind().await.unwrap_or(Err(StepError::Panicked))
}
