//! What a Hypha server is started with.

use std::time::Duration;

use super::HyphaServer;

/// Settings of a [`HyphaServer`], from [`HyphaServer::builder`].
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct HyphaServerBuilder {
    pub(super) variables: Vec<(String, String)>,
}

impl HyphaServerBuilder {
    /// How often the server pings the clients that it knows, from one interval after its start on, and how long it waits for an answer. It
    /// forgets the services of one that does not answer, and leaves its connection open. Without this, 300 s and 3 s, the first time after
    /// 5 s.
    pub fn orphan_reaper(self, interval: Duration, ping_timeout: Duration) -> Self {
        self.variable("HYPHA_ORPHAN_REAP_INTERVAL", &interval.as_secs_f64().to_string())
            .variable("HYPHA_ORPHAN_REAP_INITIAL_DELAY", &interval.as_secs_f64().to_string())
            .variable("HYPHA_ORPHAN_REAP_PING_TIMEOUT", &ping_timeout.as_secs_f64().to_string())
    }

    /// Any other variable of its environment.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it and waits until it is ready; `None` where it is not installed, which it says.
    ///
    /// # Panics
    ///
    /// If it is not ready within 30 s; if it is not installed and the variable `CI` is set.
    pub async fn start(self) -> Option<HyphaServer> {
        HyphaServer::launch(self).await
    }
}
