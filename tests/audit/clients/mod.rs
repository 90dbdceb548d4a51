//! The clients that are audited. One is added by a file and a line.

mod connection;
mod legacy;
mod reqwest;
pub(crate) mod retry_all;

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{Service, ServiceExt};
use tower_recovery::{Failure, LinearBackoff, Recovery};
use tower_recovery_http::{AnswerRule, CollectedBody, HttpFrontDoor, HttpRecovery};

pub(crate) use self::{
    connection::{ConnectionHttp1, ConnectionHttp2},
    legacy::{LegacyHttp1, LegacyHttp2},
    reqwest::{Reqwest012, Reqwest013},
};
use crate::audit::{
    call::reads,
    look_ups::LookUps,
    script::{LEAVING, Wire},
    till::Till,
    watch::Watch,
};

/// What answers calls: each caller has a clone.
pub(crate) trait Stack<Error = Failure>:
    Service<Request<Full<Bytes>>, Response = Response<Bytes>, Error = Error, Future: Send> + Clone + Send + 'static
{
}

impl<Error, Calls> Stack<Error> for Calls where
    Calls:
        Service<Request<Full<Bytes>>, Response = Response<Bytes>, Error = Error, Future: Send> + Clone + Send + 'static
{
}

pub(crate) const ATTEMPTS: u32 = 4;
pub(crate) const DEADLINE: Duration = Duration::from_millis(1200);
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(400);
pub(crate) const RESOLVE_TIMEOUT: Duration = Duration::from_millis(250);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// What a call may be repeated for: so little that it runs out.
pub(crate) const RESERVED_PERMITS: u32 = 5;
pub(crate) const PERMITS_IN_PERCENT: u32 = 2;
pub(crate) const MOST_PERMITS: u32 = 100;
const BACKOFF: LinearBackoff = LinearBackoff::new(Duration::from_millis(10), LONGEST_PAUSE);
const BODY_LIMIT: usize = 1 << 16;
const NAME: &str = "orders";

/// One of the clients.
pub(crate) trait Client {
    const NAME: &'static str;
    const WIRE: Wire;
    /// The least time between a resolve and the next.
    const FLOOR: Duration = Duration::from_millis(100);
    /// How many callers share it: so few that on a busy machine an attempt still takes a fraction of its time.
    const CALLERS: usize = 32;
    /// Whether it can be told that a request must not be copied.
    const KNOWS_ONCE: bool = false;

    /// The stack over this registry, with one observer for all that happens.
    fn stack(look_ups: LookUps, watch: Watch) -> impl Stack;
}

/// The front door, told what all of its clients are told.
fn front_door(look_ups: LookUps, watch: Watch) -> HttpRecovery<LookUps, &'static str> {
    Recovery::http(look_ups, NAME)
        .reads(reads())
        .attempts(ATTEMPTS)
        .deadline(DEADLINE)
        .attempt_timeout(ATTEMPT_TIMEOUT)
        .resolve_timeout(RESOLVE_TIMEOUT)
        .backoff(BACKOFF)
        .budget(Till::new(watch.clone()))
        .stale_if(leaving())
        .body_limit(BODY_LIMIT)
        .observer(watch)
}

/// With the bodies of answers in one piece.
fn in_one_piece<Inner>(stack: Inner) -> impl Stack
where
    Inner: Service<Request<Full<Bytes>>, Response = Response<CollectedBody>, Error = Failure, Future: Send>,
    Inner: Clone + Send + 'static,
{
    stack.map_response(|response: Response<CollectedBody>| response.map(CollectedBody::to_bytes))
}

/// The answer after which the handle is to go.
fn leaving() -> AnswerRule {
    AnswerRule::status(http::StatusCode::SERVICE_UNAVAILABLE).with_header(http::HeaderName::from_static(LEAVING))
}
