//! hyper-util's legacy client, as the front door makes it.

use tower_recovery_http::{Protocol, Transport};

use super::{Client, Stack, front_door, in_one_piece};
use crate::audit::{look_ups::LookUps, script::Wire, watch::Watch};

pub(crate) struct LegacyHttp1;

impl Client for LegacyHttp1 {
    const NAME: &'static str = "legacy, HTTP/1";
    const WIRE: Wire = Wire::Pool;

    fn stack(look_ups: LookUps, watch: Watch) -> impl Stack {
        over_pools(Protocol::Http1, look_ups, watch)
    }
}

pub(crate) struct LegacyHttp2;

impl Client for LegacyHttp2 {
    const NAME: &'static str = "legacy, HTTP/2";
    const WIRE: Wire = Wire::Streams;

    fn stack(look_ups: LookUps, watch: Watch) -> impl Stack {
        over_pools(Protocol::Http2, look_ups, watch)
    }
}

fn over_pools(protocol: Protocol, look_ups: LookUps, watch: Watch) -> impl Stack {
    let stack = front_door(look_ups, watch).transport(Transport::new().protocol(protocol)).build();
    in_one_piece(stack.expect("the settings are within their bounds"))
}
