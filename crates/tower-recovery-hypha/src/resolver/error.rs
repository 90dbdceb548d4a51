//! Why no client was found for a name.

use std::sync::Arc;

use crate::CallError;

/// Why no client was found that offers a service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveServiceError {
    /// The registry knows no such service, or it could not be asked.
    #[error("the registry names no client")]
    Call(#[from] CallError),
    /// There must be only one, and there are several.
    #[error("{} clients offer {id}, but only one must", peers.len())]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Who offers it, as far as they are listed.
        peers: Vec<Arc<str>>,
    },
    /// Several offer it, and none of them answers a ping.
    #[error("none of the {asked} clients that offer {id} answers")]
    NobodyAnswers {
        /// What was asked for.
        id: String,
        /// How many were asked.
        asked: usize,
    },
}
