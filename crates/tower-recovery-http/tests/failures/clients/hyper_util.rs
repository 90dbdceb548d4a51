//! hyper-util's legacy client: a pool.

use std::{convert::identity, future::ready};

use tower::service_fn;
use tower_recovery::Resolved;
use tower_recovery_http::OriginHandle;

use super::{Client, Stack, Way, over};

pub(crate) struct HyperUtil;

impl Client for HyperUtil {
    fn name(&self) -> &'static str {
        "hyper-util"
    }

    fn stack(&self, way: &Way) -> Stack {
        let (origin, transport) = (way.origin.clone(), way.transport());
        let handles = service_fn(move |()| {
            let handle = OriginHandle::new(origin.clone(), &transport);
            ready(handle.map(|handle| Resolved::new(origin.to_string(), handle)))
        });
        over(way, handles, identity)
    }
}
