//! Settings of a client, and its beginning.

use std::{fmt, sync::Arc, time::Duration};

use tower_recovery::InvalidSetting;

use super::{HyphaClient, settings::Settings};
use crate::{
    ConnectError, InvalidServerUrl,
    calls::Patience,
    connection::{Endpoint, Pace, Reconnect, Tls, Tokens},
    service_id::check_part,
    wire::Limits,
};

/// Builds a [`HyphaClient`].
#[must_use = "a builder does nothing before `connect`"]
pub struct HyphaClientBuilder {
    server_url: String,
    token: Option<Box<str>>,
    workspace: Option<Box<str>>,
    client_id: Option<Box<str>>,
    app_id: Box<str>,
    tls: Tls,
    connect_timeout: Duration,
    connection_wait: Duration,
    answer_timeout: Duration,
    ping_interval: Duration,
    ping_timeout: Duration,
    token_refresh_interval: Duration,
    reconnect: Reconnect,
    pace: Pace,
    limits: Limits,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The server's URL is none.
    #[error(transparent)]
    ServerUrl(#[from] InvalidServerUrl),
    /// A setting is out of its bounds.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
}

/// Why there is no connected client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The settings are wrong.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The first connection was not made.
    #[error("no connection to the server")]
    Connect(#[source] Arc<ConnectError>),
}

impl HyphaClientBuilder {
    const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    pub(super) fn new(server_url: impl Into<String>) -> Self {
        Self {
            server_url: server_url.into(),
            token: None,
            workspace: None,
            client_id: None,
            app_id: "*".into(),
            tls: Tls::default(),
            connect_timeout: Duration::from_secs(10),
            connection_wait: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(30),
            ping_interval: Duration::from_secs(20),
            ping_timeout: Duration::from_secs(20),
            token_refresh_interval: Duration::from_secs(2 * 60 * 60),
            reconnect: Reconnect { shortest: Duration::from_millis(200), longest: Duration::from_secs(30) },
            pace: Pace { per_second: 190, at_once: 1900 },
            limits: Limits::default(),
        }
    }

    /// By what the server lets the client in. It is never logged. Default: none, which makes the client an anonymous user in a workspace of its own.
    ///
    /// A connection that was lost is made again by a token that the server gives, and refreshes. This one is needed again after a restart of a server that does not know its own tokens any more, and where a probe rebuilds the
    /// registration: let it live as long as the process.
    pub fn token(mut self, token: impl Into<Box<str>>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The workspace. Default: that of the token.
    pub fn workspace(mut self, workspace: impl Into<Box<str>>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// How the client is known in its workspace. A process that must be found under the same name after a restart sets it; two that live at a time must not have the same one, since the server takes away
    /// the registrations of the first when it refuses the second. Default: a random one.
    pub fn client_id(mut self, client_id: impl Into<Box<str>>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// The application that the client's services belong to. Default: `*`, none.
    pub fn app_id(mut self, app_id: impl Into<Box<str>>) -> Self {
        self.app_id = app_id.into();
        self
    }

    /// TLS, for a server of the scheme `https` or `wss`.
    #[cfg(feature = "rustls")]
    pub fn tls(mut self, config: impl Into<Arc<rustls::ClientConfig>>) -> Self {
        self.tls = Tls::with(config.into());
        self
    }

    /// How long one try to connect may take, until the server has let the client in. Above zero; default: 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long a call waits for a connection, while there is none. A call that ends by this was never sent. Above zero; default: 10 s.
    pub fn connection_wait(mut self, limit: Duration) -> Self {
        self.connection_wait = limit;
        self
    }

    /// How long a call waits for its answer since the last heartbeat of the callee, who is asked to send one twice in this time. A call that ends by this may have been executed. Above zero; default: 30 s.
    pub fn answer_timeout(mut self, limit: Duration) -> Self {
        self.answer_timeout = limit;
        self
    }

    /// How often the server is asked for a sign of life, and how long it has for that. A connection on which nothing comes for both together is given up. Above zero; default: 20 s, and 20 s.
    pub fn keep_alive(mut self, interval: Duration, limit: Duration) -> Self {
        (self.ping_interval, self.ping_timeout) = (interval, limit);
        self
    }

    /// How often the server is asked for a new token for coming back; half of such a token's life if that is sooner. At least 1 s; default: 2 h.
    pub fn token_refresh_interval(mut self, interval: Duration) -> Self {
        self.token_refresh_interval = interval;
        self
    }

    /// The pause before a lost connection is made again: the first one, which doubles with every failure, and the longest. Chance takes up to a half away. From 1 ms on; default: 200 ms, and 30 s.
    pub fn reconnect_pause(mut self, shortest: Duration, longest: Duration) -> Self {
        self.reconnect = Reconnect { shortest, longest };
        self
    }

    /// How many messages are sent a second at the most, and at once after a rest. More of them wait, and are not sent until then. A server ends the connection of a client that sends too many, and
    /// so ends all calls that wait for their answers on it. Each at least 1; default: 190, and 1,900, a little less than what Hypha 0.21.137 takes by default (200, and 2,000).
    pub fn pace(mut self, per_second: u32, at_once: u32) -> Self {
        self.pace = Pace { per_second, at_once };
        self
    }

    /// The longest message, in bytes, that is taken or sent. At least 1 MiB; default: 64 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_message_bytes = bytes;
        self.limits.max_decoded_bytes = self.limits.max_decoded_bytes.max(bytes.saturating_mul(2));
        self.limits.max_open_bytes = self.limits.max_open_bytes.max(bytes.saturating_mul(2));
        self
    }

    /// The client, which connects when [`open`](HyphaClient::open) is called.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, by name.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn build(self) -> Result<HyphaClient, BuildError> {
        let tokens = Tokens::new(self.token.clone());
        let settings = self.settings()?;
        Ok(HyphaClient::start(settings, tokens))
    }

    /// The client, connected. It stays so by itself from then on, until it is closed, or dropped with all its clones.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, or why the first connection was not made.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the client, and its connection.
    pub async fn connect(self) -> Result<HyphaClient, StartError> {
        let client = self.build()?;
        client.open().await.map_err(StartError::Connect)?;
        Ok(client)
    }

    fn settings(self) -> Result<Settings, BuildError> {
        let endpoint = Endpoint::parse(&self.server_url)?;
        if endpoint.is_secure && !self.tls.is_there() {
            let bound = "set for a server of https: `tls`, by the feature `rustls`";
            return Err(InvalidSetting::new("tls", "not set", bound).into());
        }
        for (field, value) in [("client_id", self.client_id.as_deref()), ("workspace", self.workspace.as_deref())] {
            if let Some(Err(bound)) = value.map(check_part) {
                return Err(InvalidSetting::new(field, format_args!("{:?}", value.unwrap_or_default()), bound).into());
            }
        }
        if &*self.app_id != "*"
            && let Err(bound) = check_part(&self.app_id)
        {
            return Err(InvalidSetting::new("app_id", format_args!("{:?}", self.app_id), bound).into());
        }
        let second = Duration::from_secs(1);
        let least = Duration::from_millis(1);
        for (field, value, least) in [
            ("connect_timeout", self.connect_timeout, least),
            ("connection_wait", self.connection_wait, least),
            ("answer_timeout", self.answer_timeout, least),
            ("keep_alive.interval", self.ping_interval, least),
            ("keep_alive.limit", self.ping_timeout, least),
            ("token_refresh_interval", self.token_refresh_interval, second),
            ("reconnect_pause.shortest", self.reconnect.shortest, least),
        ] {
            if !(least..=Self::LONGEST).contains(&value) {
                let bound = format!("from {least:?} to {:?}", Self::LONGEST);
                return Err(InvalidSetting::new(field, format_args!("{value:?}"), bound).into());
            }
        }
        let Reconnect { shortest, longest } = self.reconnect;
        if longest < shortest || longest > Self::LONGEST {
            let bound = format!("from the shortest pause of {shortest:?} to {:?}", Self::LONGEST);
            return Err(InvalidSetting::new("reconnect_pause.longest", format_args!("{longest:?}"), bound).into());
        }
        for (field, value) in [("pace.per_second", self.pace.per_second), ("pace.at_once", self.pace.at_once)] {
            if value == 0 {
                return Err(InvalidSetting::new(field, value, "at least 1").into());
            }
        }
        const LEAST_MESSAGE: usize = 1 << 20;
        // A length on the wire has 32 bits.
        const MOST_MESSAGE: usize = 1 << 30;
        if !(LEAST_MESSAGE..=MOST_MESSAGE).contains(&self.limits.max_message_bytes) {
            let bound = format!("from {LEAST_MESSAGE} to {MOST_MESSAGE}");
            return Err(InvalidSetting::new("max_message_bytes", self.limits.max_message_bytes, bound).into());
        }
        Ok(Settings {
            endpoint,
            tls: self.tls,
            workspace: self.workspace,
            client_id: self.client_id.unwrap_or_else(random_client_id),
            app_id: self.app_id,
            connect_timeout: self.connect_timeout,
            patience: Patience { connection: self.connection_wait, answer: self.answer_timeout },
            ping_interval: self.ping_interval,
            ping_timeout: self.ping_timeout,
            token_refresh_interval: self.token_refresh_interval,
            reconnect: self.reconnect,
            pace: self.pace,
            limits: self.limits,
        })
    }
}

/// That of nobody else.
pub(super) fn random_client_id() -> Box<str> {
    format!("rust-{:016x}", fastrand::u64(..)).into()
}

/// Without the token.
impl fmt::Debug for HyphaClientBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HyphaClientBuilder")
            .field("workspace", &self.workspace)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
