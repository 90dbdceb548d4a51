//! Who answers.

use http::StatusCode;
use tower_recovery::Verdict;

/// Whether somebody stands between the client and the server that executes its requests: a proxy, a gateway, a balancer of HTTP.
///
/// What the direct peer says proves something about the direct peer. A proxy may have sent the request on before it refuses it: haproxy 2.6
/// resets an HTTP/2 stream with `REFUSED_STREAM` after its backend has executed the request and closed, in every mode of its own
/// connection reuse (`tests/real_proxies`), and a proxy with retries of its own may have executed a request at one backend before another refuses it.
///
/// What a proxy repeats by itself, no client can take back: nginx sends a PUT or a DELETE again whose kept connection to the backend broke.
///
/// A balancer of TCP connections is none: what comes over its connections comes from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Intermediary {
    /// The peer of the connection executes the requests.
    #[default]
    Absent,
    /// The peer of the connection, or somebody behind it, passes requests on: no word from there proves that a request was not executed.
    Present,
}

impl Intermediary {
    /// The verdict about a refusal in the protocol's own words.
    pub(super) fn refusal(self) -> Verdict {
        match self {
            Self::Absent => Verdict::refused(),
            Self::Present => Verdict::maybe_sent(),
        }
    }

    /// What a status alone proves, if it is more than an answer.
    pub(super) fn verdict_of_status(self, status: StatusCode) -> Option<Verdict> {
        match (status, self) {
            (StatusCode::MISDIRECTED_REQUEST, Self::Absent) => Some(Verdict::refused().stale()),
            (StatusCode::MISDIRECTED_REQUEST, Self::Present) => Some(Verdict::answered().stale()),
            (StatusCode::TOO_EARLY, Self::Absent) => Some(Verdict::refused()),
            _ => None,
        }
    }
}
