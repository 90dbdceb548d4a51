//! The front door of the server, and a reader that is slow for a while.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower_recovery::{Recovery, StreamMode, StreamPolicy};
use tower_recovery_http::{HttpFrontDoor, HttpStreamsOverPools, Origin};
use tower_recovery_test::Registry;

use super::{live::MIB, server::Large};

/// More than two sockets hold between them: Linux lets each have 32 MiB at the most, unless it was told otherwise.
pub(crate) const SOCKETS: u64 = 64 * MIB as u64;

pub(crate) fn door(server: &Large) -> HttpStreamsOverPools<Full<Bytes>> {
    const SHORT: Duration = Duration::from_millis(20);
    let registry = Registry::new();
    let origin: Origin = server.origin().parse().expect("an origin");
    registry.register("large", "only", origin);
    let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).recovery_grace(SHORT).max_replacements(10);
    Recovery::http(registry.resolver(), "large")
        .resolve_floor(Duration::from_millis(1), SHORT)
        .streams(policy.build().expect("it is in its bounds"))
        .expect("the settings are in their bounds")
}

pub(crate) fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).body(Full::default()).expect("a request")
}

/// A reader that takes nothing for a while, once it has read a part.
pub(crate) struct Slow {
    done: bool,
}

impl Slow {
    const AFTER: u64 = 100 * MIB as u64;
    /// Long enough for a server to run ahead by hundreds of MiB, if anybody took them from it.
    const PAUSE: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Self { done: false }
    }

    /// So much was read. Whoever stands in between takes no more while the reader takes none.
    pub(crate) async fn read(&mut self, bytes: u64, server: &Large) {
        if !self.done && bytes >= Self::AFTER {
            self.done = true;
            tokio::time::sleep(Self::PAUSE).await;
            let ahead = server.sent() - bytes;
            assert!(ahead <= SOCKETS, "the server is {ahead} bytes ahead of a reader that takes none");
        }
    }

    pub(crate) fn assert_done(&self) {
        assert!(self.done);
    }
}
