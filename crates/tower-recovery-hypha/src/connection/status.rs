//! How the connection is.

use std::sync::Arc;

use crate::ConnectError;

/// How the connection to the server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionStatus {
    /// It is being made, for the first time or again. Calls wait for it.
    Connecting {
        /// How often that has failed since it was last there.
        failures: u32,
        /// Why it failed the last time, or how the one before it ended.
        last: Option<Arc<ConnectError>>,
    },
    /// It is there, and what the client offers is registered.
    Connected,
    /// The server refuses the client for good; it is asked again at the longest pause. Calls fail at once.
    Refused(Arc<ConnectError>),
    /// It was closed by its user.
    Closed,
}

impl ConnectionStatus {
    /// Whether it is there.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected)
    }
}
