//! The error of a call.

use std::{sync::Arc, time::Duration};

use super::ConnectError;
use crate::{RemoteError, wire::MalformedFrame};

/// Why a call has no result. Where it arose is its [`place`](Self::place), and from that alone follows what it proves.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The client was closed before the request was sent.
    #[error("the client is closed")]
    Closed,
    /// There was no connection to the server, or no place on it for one message more, for as long as the call may wait for that.
    #[error("there was no connection to the server, or no place on it, for {waited:?}")]
    NotConnected {
        /// How long the call waited.
        waited: Duration,
        /// Why the last try to connect failed, if one did.
        #[source]
        last: Option<Arc<ConnectError>>,
    },
    /// The server refuses this client for good: connecting again will not help.
    #[error("the server refuses this client")]
    Refused(#[source] Arc<ConnectError>),
    /// The request is longer than what may be sent.
    #[error("the request has {bytes} bytes, but it must have at most {bound}")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        bound: usize,
    },
    /// The request is sent in pieces, and the callee did not take one of them. It executes nothing before it was told that all are there, and that was not sent.
    #[error("a piece of the request was not taken")]
    Upload(#[source] Box<Self>),
    /// The request was sent in pieces, and the callee failed to put them together, or to say that it did.
    #[error("the callee failed to put the pieces of the request together")]
    Assembly(#[source] Box<Self>),
    /// The server does not know the callee as connected, and did not pass the request on.
    #[error("the server says that {peer} is not connected")]
    PeerNotConnected {
        /// Whom the call was for: `workspace/client`.
        peer: Arc<str>,
    },
    /// The server has forgotten the client that calls, though its socket is open, and did not pass the request on.
    #[error("the server has closed its end of {client}'s connection, though the socket is open")]
    OwnConnectionClosed {
        /// Who called: `workspace/client`.
        client: Arc<str>,
    },
    /// The server failed while it passed the request on. How far it came is not said.
    #[error("the server failed to pass the request on: {message}")]
    Routing {
        /// What it says.
        message: String,
    },
    /// The callee has the service, or had it, but no such method.
    #[error("{peer} has no method {method}")]
    MethodNotFound {
        /// Whom the call was for: `workspace/client`.
        peer: Arc<str>,
        /// What it was for: `services.name.method`.
        method: Arc<str>,
    },
    /// The server's registry knows no such service.
    #[error("the registry knows no service {id}")]
    ServiceNotFound {
        /// As the registry names it: `workspace/client:name@app`.
        id: String,
    },
    /// The method raised an error.
    #[error(transparent)]
    Remote(RemoteError),
    /// The connection to the server was lost before the answer came.
    #[error("the connection was lost before the answer came: {reason}")]
    ConnectionLost {
        /// How it ended.
        reason: Arc<str>,
    },
    /// The callee's connection to the server ended before the answer came.
    #[error("{peer} was disconnected before its answer came")]
    PeerDisconnected {
        /// Whom the call was for: `workspace/client`.
        peer: Arc<str>,
    },
    /// Neither an answer nor a heartbeat of the callee came for this long.
    #[error("neither an answer nor a heartbeat came for {silent:?}")]
    TimedOut {
        /// How long nothing came.
        silent: Duration,
    },
    /// The server's workspace manager answered something else than is expected of this method.
    #[error("the workspace manager's answer to {method} is none")]
    UnexpectedAnswer {
        /// The method of the workspace manager.
        method: Box<str>,
    },
    /// What came as the answer cannot be read.
    #[error("the answer cannot be read")]
    MalformedAnswer(#[source] MalformedFrame),
}

/// Where an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// In this process: the request was not sent, or not to its end.
    Send,
    /// In the server, which passes requests on.
    Routing,
    /// In the server's registry, which looks names up.
    Registry,
    /// In the callee.
    Execution,
    /// Nobody said anything: no answer came.
    Unanswered,
}

impl CallError {
    /// Where it arose.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Closed | Self::NotConnected { .. } | Self::Refused(_) | Self::TooLong { .. } | Self::Upload(_) => {
                Place::Send
            }
            Self::PeerNotConnected { .. } | Self::OwnConnectionClosed { .. } | Self::Routing { .. } => Place::Routing,
            Self::ServiceNotFound { .. } | Self::UnexpectedAnswer { .. } => Place::Registry,
            Self::MethodNotFound { .. } | Self::Remote(_) => Place::Execution,
            Self::ConnectionLost { .. }
            | Self::PeerDisconnected { .. }
            | Self::Assembly(_)
            | Self::TimedOut { .. }
            | Self::MalformedAnswer(_) => Place::Unanswered,
        }
    }

    /// Whether it proves that nothing was executed.
    #[must_use]
    pub fn is_send_side(&self) -> bool {
        self.place() == Place::Send || matches!(self, Self::PeerNotConnected { .. } | Self::OwnConnectionClosed { .. })
    }
}
