//! How long something lasts.

use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::freeze::{BeforeThaw, Freeze};

/// What ends a wait of the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// The next [thaw](crate::FaultyServer::thaw), which is the test's to call.
    Thaw,
    /// This time has passed.
    Elapsed(Duration),
    /// Nothing ends it, but the end of the server, or a [refusal](crate::FaultyServer::refuse).
    Never,
}

/// A wait that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Thaw(BeforeThaw),
    Time(Instant),
    Endless,
}

impl Until {
    /// Begins the wait now; a thaw counts if it comes after that moment.
    pub(super) fn begin(self, since: BeforeThaw) -> Wait {
        match self {
            Self::Thaw => Wait::Thaw(since),
            // What no clock can show is never reached.
            Self::Elapsed(time) => Instant::now().checked_add(time).map_or(Wait::Endless, Wait::Time),
            Self::Never => Wait::Endless,
        }
    }
}

impl Wait {
    pub(super) async fn over(self, freeze: &Freeze) {
        match self {
            Self::Thaw(since) => freeze.thawed(since).await,
            Self::Time(end) => sleep_until(end).await,
            Self::Endless => pending().await,
        }
    }
}
