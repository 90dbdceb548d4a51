//! hyper's own connections, one a handle, which hand back what they did not send.

use std::time::Duration;

use tower::ServiceBuilder;
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, ClassifyLayer, Dispatch, HandleCache, ReadOnlyRetryLayer, ReresolveLayer,
};
use tower_recovery_http::{CollectLayer, ConnectLayer, HttpClassifier, Protocol, Transport};

use super::{
    ATTEMPT_TIMEOUT, ATTEMPTS, BACKOFF, BODY_LIMIT, Client, DEADLINE, NAME, RESOLVE_TIMEOUT, Stack, in_one_piece,
    leaving,
};
use crate::audit::{call::OnceRules, look_ups::LookUps, script::Wire, till::Till, watch::Watch};

pub(crate) struct ConnectionHttp1;

impl Client for ConnectionHttp1 {
    const NAME: &'static str = "connection, HTTP/1";
    const WIRE: Wire = Wire::Turns;
    const FLOOR: Duration = Duration::from_millis(5);
    // They take turns on one connection.
    const CALLERS: usize = 8;
    const KNOWS_ONCE: bool = true;

    fn stack(look_ups: LookUps, watch: Watch) -> impl Stack {
        over_connections::<Self>(Transport::new(), look_ups, watch)
    }
}

pub(crate) struct ConnectionHttp2;

impl Client for ConnectionHttp2 {
    const NAME: &'static str = "connection, HTTP/2";
    const WIRE: Wire = Wire::Streams;
    const FLOOR: Duration = Duration::from_millis(20);
    const KNOWS_ONCE: bool = true;

    fn stack(look_ups: LookUps, watch: Watch) -> impl Stack {
        over_connections::<Self>(Transport::new().protocol(Protocol::Http2), look_ups, watch)
    }
}

fn over_connections<Audited: Client>(transport: Transport, look_ups: LookUps, watch: Watch) -> impl Stack {
    let handles = look_ups.then(|look_ups| ServiceBuilder::new().layer(ConnectLayer::new(transport)).service(look_ups));
    let cache = HandleCache::builder(handles, NAME)
        .resolve_timeout(RESOLVE_TIMEOUT)
        .resolve_floor(Audited::FLOOR, 10 * Audited::FLOOR)
        .observer(watch.clone());
    let timing = CallTiming::builder().attempts(ATTEMPTS).deadline(DEADLINE).attempt_timeout(ATTEMPT_TIMEOUT).build();
    let timing = timing.expect("the timing is within its bounds");
    let retry = ReadOnlyRetryLayer::new(OnceRules::new())
        .timing(timing)
        .backoff(BACKOFF)
        .budget(Till::new(watch.clone()))
        .observer(watch);
    in_one_piece(
        ServiceBuilder::new()
            .layer(retry)
            .layer(ReresolveLayer::new(cache.build()))
            .layer(ClassifyLayer::new(HttpClassifier::new().stale_if(leaving())))
            .layer(AttemptTimeoutLayer::new(ATTEMPT_TIMEOUT))
            .layer(CollectLayer::new(BODY_LIMIT))
            .service(Dispatch),
    )
}
