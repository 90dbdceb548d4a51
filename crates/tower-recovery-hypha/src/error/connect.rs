//! The error of connecting.

use std::{io, time::Duration};

use tokio_tungstenite::tungstenite;
use tower::BoxError;

use crate::text::cut;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server's host could not be reached.
    #[error("{host} could not be reached")]
    Unreachable {
        /// Host and port.
        host: Box<str>,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// TLS failed.
    #[error("no TLS with the server")]
    Tls(#[source] io::Error),
    /// What answered does not speak websockets there, or broke off.
    #[error("the websocket failed")]
    Websocket(#[source] Box<tungstenite::Error>),
    /// It took too long.
    #[error("connecting took longer than {0:?}")]
    TimedOut(Duration),
    /// What the server sent first is not what a Hypha server sends.
    #[error("the server's first message is not that of a Hypha server")]
    Protocol(#[source] BoxError),
    /// The server does not accept the token.
    #[error("the server does not accept the token: {message}")]
    Unauthenticated {
        /// What it says.
        message: Box<str>,
    },
    /// The token gives no access to the workspace.
    #[error("the token gives no access: {message}")]
    Forbidden {
        /// What it says.
        message: Box<str>,
    },
    /// The server put the client into another workspace than was asked for.
    #[error("the workspace is {given:?}, but it must be {wanted:?}")]
    WrongWorkspace {
        /// Where the client was put.
        given: Box<str>,
        /// Where it was to be.
        wanted: Box<str>,
    },
    /// Somebody else, who lives, has this client id. The server takes their registration away although it refuses this one.
    #[error("{client} is connected already")]
    AlreadyConnected {
        /// The id: `workspace/client`.
        client: Box<str>,
    },
    /// The server refused the connection for another reason.
    #[error("the server refused the connection: {message}")]
    Refused {
        /// What it says.
        message: Box<str>,
    },
    /// The connection was made, and what the client offers could not be registered over it.
    #[error("{service} could not be registered")]
    Registration {
        /// The service.
        service: Box<str>,
        /// Why.
        #[source]
        source: Box<super::CallError>,
    },
    /// The connection was there, and was lost.
    #[error("the connection was lost: {reason}")]
    Lost {
        /// How it ended.
        reason: std::sync::Arc<str>,
    },
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

impl ConnectError {
    /// Whether connecting in the same way will fail in the same way.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Unauthenticated { .. } | Self::Forbidden { .. } | Self::WrongWorkspace { .. })
    }

    /// Whether the server said no, to the client or its token.
    pub(crate) fn is_a_refusal(&self) -> bool {
        matches!(self, Self::Unauthenticated { .. } | Self::Forbidden { .. } | Self::Refused { .. })
    }

    /// Whether another try soon is of no use, or does harm: a refused client takes the registration of the one that is connected away.
    pub(crate) fn is_to_wait_for(&self) -> bool {
        self.is_permanent() || matches!(self, Self::AlreadyConnected { .. })
    }

    /// What the server said when it closed the connection instead of opening it. Its words are all that it gives.
    pub(crate) fn of_the_servers_words(message: &str, client: &str) -> Self {
        const TOKENS: [&str; 6] = [
            "Client id mismatch",
            "Invalid scope",
            "Current workspace encoded in the token",
            "No authentication information provided",
            "Token has been revoked",
            "Specialized token",
        ];
        let boxed = || cut(message).into();
        if message.starts_with("Authentication error: ") {
            return Self::Unauthenticated { message: boxed() };
        }
        let reason = message.strip_prefix("Failed to establish connection: ").unwrap_or_default();
        if let Some(id) = reason.strip_prefix("Client already exists and is active: ")
            && id.rsplit_once('/').is_some_and(|(_, id)| id == client)
        {
            return Self::AlreadyConnected { client: cut(id).into() };
        }
        // Whatever fails in the server while it looks at the token begins in this way: only what is the token's own fault will fail again.
        let of_the_token = reason.strip_prefix("Failed to authenticate user: ").unwrap_or(reason);
        if TOKENS.iter().any(|fault| of_the_token.starts_with(fault)) {
            return Self::Unauthenticated { message: boxed() };
        }
        if of_the_token.starts_with("Permission denied for workspace") {
            return Self::Forbidden { message: boxed() };
        }
        Self::Refused { message: boxed() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_are_told_apart() {
        let read = |message| ConnectError::of_the_servers_words(message, "worker-7");
        assert!(matches!(
            read("Failed to establish connection: Client already exists and is active: ws/worker-7"),
            ConnectError::AlreadyConnected { client } if &*client == "ws/worker-7"
        ));
        for message in [
            "Authentication error: The token has expired.",
            "Failed to establish connection: Failed to authenticate user: Client id mismatch, disconnecting",
        ] {
            let error = read(message);
            assert!(matches!(error, ConnectError::Unauthenticated { .. }) && error.is_permanent(), "{error:?}");
        }
        let error = read("Failed to establish connection: Permission denied for workspace: theirs");
        assert!(matches!(error, ConnectError::Forbidden { .. }) && error.is_permanent());
        for message in [
            "Server busy, please retry",
            "Failed to establish connection: Client already exists and is active: ws/worker-8",
            "Failed to establish connection: Failed to authenticate user: Redis is away",
            "Failed to establish connection: Redis is away",
            "",
        ] {
            let error = read(message);
            assert!(matches!(error, ConnectError::Refused { .. }) && !error.is_permanent(), "{error:?}");
        }
    }
}
