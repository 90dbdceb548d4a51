//! How the connection is.

use std::sync::Arc;

use crate::ConnectError;

/// How the connection to the server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionStatus {
    /// It is being made, for the first time or again. Calls wait for it.
    Connecting {
        /// How often that has failed since it was last there for a while.
        failures: u32,
        /// Why it failed the last time, or how the one before it ended.
        last: Option<Arc<ConnectError>>,
    },
    /// It is there, and what the client offers is registered.
    Connected,
    /// The server refuses the client for good; it is asked again at the longest pause. Calls fail at once.
    Refused(Arc<ConnectError>),
    /// It is being closed: by its user, or by the probe of its registration, which opens it again. Calls fail at once, or wait for that.
    Closing,
    /// It was closed, or never opened. Calls fail at once, or wait where the probe of the registration opens it again.
    Closed,
}

impl ConnectionStatus {
    /// Whether it is there.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected)
    }
}

/// What has happened since the client began: for those who wait for the next one of these, and would miss it in a status that goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Milestones {
    /// How often the connection was closed by its user.
    pub(crate) closings: u64,
    /// How many tries to connect failed.
    pub(crate) failures: u64,
    /// Why the last one of them did.
    pub(crate) last_failure: Option<Arc<ConnectError>>,
}
