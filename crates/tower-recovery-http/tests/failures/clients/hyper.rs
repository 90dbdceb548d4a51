//! hyper's connection: one, made by the resolver.

use std::convert::identity;

use tower::ServiceBuilder;
use tower_recovery_http::ConnectLayer;

use super::{Client, Stack, Way, over, registry};

pub(crate) struct Hyper;

impl Client for Hyper {
    fn name(&self) -> &'static str {
        "hyper"
    }

    fn is_connected_by_the_resolver(&self) -> bool {
        true
    }

    fn stack(&self, way: &Way) -> Stack {
        let connecting = ConnectLayer::new(way.transport());
        over(way, ServiceBuilder::new().layer(connecting).service(registry(way.origin.clone())), identity)
    }
}
