//! What it means that a call was turned down.

use std::sync::Arc;

use rmpv::Value;

use super::OpenCall;
use crate::{CallError, RemoteError, text::cut};

impl OpenCall {
    /// The server gives its words and nothing else. Two of them are said before it passes anything on, and prove it; they are matched as a whole, and for this call alone.
    pub(super) fn turned_down_by_routing(&self, reason: &Value, own: &Arc<str>) -> CallError {
        let message = words(reason);
        if let Some(peer) = &self.sent_to
            && message == format!("Target peer {peer} is not connected")
        {
            return CallError::PeerNotConnected { peer: Arc::clone(peer) };
        }
        if message == format!("Connection has already been closed (client: {own})") {
            return CallError::OwnConnectionClosed { client: Arc::clone(own) };
        }
        CallError::Routing { message: cut(&message).to_owned() }
    }

    pub(super) fn turned_down_by_callee(&self, reason: &Value, own: &Arc<str>) -> CallError {
        let error = RemoteError::from_value(reason);
        let Some(peer) = &self.sent_to else { return CallError::Remote(error) };
        if self.is_of_manager {
            // The text of a KeyError is quoted.
            let id = error.message().strip_prefix("'Service not found: ").and_then(|rest| rest.strip_suffix('\''));
            if error.kind() == "KeyError"
                && let Some(id) = id
            {
                return CallError::ServiceNotFound { id: id.to_owned() };
            }
        }
        let callee = peer.rsplit('/').next().unwrap_or(peer);
        let method = format!("{own}:{}", self.method);
        // The latter is what hypha-rpc says of a service that it has not, since services are kept where sessions are.
        let words =
            [format!("Method not found: {method} at {callee}"), format!("Method expired or not found: {method}")];
        if words.iter().any(|words| error.message() == words) {
            return CallError::MethodNotFound { peer: Arc::clone(peer), method: Arc::clone(&self.method) };
        }
        CallError::Remote(error)
    }
}

/// The bare words of an error.
fn words(reason: &Value) -> String {
    let fields = reason.as_map().map(Vec::as_slice).unwrap_or_default();
    let words = fields.iter().find(|(name, _)| name.as_str() == Some("_rvalue")).map_or(reason, |(_, words)| words);
    words.as_str().unwrap_or_default().to_owned()
}
