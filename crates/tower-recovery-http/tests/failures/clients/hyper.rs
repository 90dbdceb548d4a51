//! hyper's connection: one, made by the resolver.

use std::{
    convert::identity,
    task::{Context, Poll, ready},
};

use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::Resolved;
use tower_recovery_http::{ConnectLayer, ConnectionHandle};

use super::{Client, RequestBody, Stack, Way, over, registry};

pub(crate) struct Hyper;

impl Client for Hyper {
    fn name(&self) -> &'static str {
        "hyper"
    }

    fn is_connected_by_the_resolver(&self) -> bool {
        true
    }

    fn stack(&self, way: &Way) -> Stack {
        let connecting = ServiceBuilder::new().layer(ConnectLayer::new(way.transport()));
        let handles = connecting.service(registry(way.origin.clone()));
        if way.is_late {
            over(way, handles.map_response(|found: Resolved<ConnectionHandle<RequestBody>>| found.map(Late)), identity)
        } else {
            over(way, handles, identity)
        }
    }
}

/// Passes for ready when its connection has ended, as it was for one who has looked a moment before.
#[derive(Clone)]
struct Late<Handle>(Handle);

impl<Handle: Service<Request>, Request> Service<Request> for Late<Handle> {
    type Response = Handle::Response;
    type Error = Handle::Error;
    type Future = Handle::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Handle::Error>> {
        let _ended = ready!(self.0.poll_ready(context));
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Handle::Future {
        self.0.call(request)
    }
}
