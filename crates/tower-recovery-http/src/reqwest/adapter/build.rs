//! From the settings to a stack.

use std::sync::Arc;

use tower::{BoxError, ServiceBuilder, util::MapResponse};
use tower_recovery::{CallTiming, Dispatch, InvalidSetting, Resolved, StreamPolicy};
use tower_service::Service;

use super::{
    ReqwestHandle, ReqwestRules, ReqwestStack, ReqwestStreams, StreamingReqwestStack, ends,
    handle::build as build_client,
    library::{self, Client, ClientBuilder},
    response::{closed, closed_whole},
};
use crate::{CollectLayer, HttpRecovery, InvalidOrigin, Origin, body_end::Trust, front_door::Stack};

/// A stack, or a handle, cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReqwestBuildError {
    /// A setting is out of its bounds, or is one that only the closure can make.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// An origin is none for reqwest. Only a handle meets it.
    #[error(transparent)]
    Origin(#[from] InvalidOrigin),
    /// reqwest can build no client from what the closure made.
    #[error("reqwest can build no client")]
    Client(#[source] library::Error),
}

pub(crate) fn unary<Resolver, Target>(
    door: HttpRecovery<Resolver, Target>,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<ReqwestStack, ReqwestBuildError>
where
    Resolver: Service<Target, Response = Resolved<Origin>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    Target: Clone + Send + 'static,
{
    let leaf = ServiceBuilder::new().layer(CollectLayer::new(door.body_limit).trusting(trust())).service(Dispatch);
    let (stack, client) = over_clients(door, leaf, configure)?;
    Ok(ReqwestStack::new(MapResponse::new(stack, closed_whole), client))
}

pub(crate) fn streaming<Resolver, Target>(
    door: HttpRecovery<Resolver, Target>,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<StreamingReqwestStack, ReqwestBuildError>
where
    Resolver: Service<Target, Response = Resolved<Origin>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    Target: Clone + Send + 'static,
{
    let leaf = ServiceBuilder::new().layer(door.streamed().trusting(trust())).service(Dispatch);
    let (stack, client) = over_clients(door, leaf, configure)?;
    Ok(ReqwestStack::new(MapResponse::new(stack, closed), client))
}

pub(crate) fn streams<Resolver, Target>(
    door: HttpRecovery<Resolver, Target>,
    policy: StreamPolicy,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<ReqwestStreams, ReqwestBuildError>
where
    Resolver: Service<Target, Response = Resolved<Origin>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    Target: Clone + Send + 'static,
{
    let door = door.timed_by(policy).trusting(trust());
    let timing = door.timing()?;
    let configured = configured(&door, timing, configure)?;
    build_client(configured())?;
    let rules = ReqwestRules::with_policy(door.policy());
    Ok(door.streams_over(policy, timing, rules, move |origin| ReqwestHandle::new(origin, configured()))?)
}

/// What must be believed of the ends of bodies, beside what the stack was told.
fn trust() -> Trust {
    if ends::are_passed_on() { Trust::default() } else { Trust::CleanEnds }
}

/// The stack over a client for each origin, and a client that was built at once: what reqwest refuses is to be known before the first call.
fn over_clients<Resolver, Target, Leaf>(
    door: HttpRecovery<Resolver, Target>,
    leaf: Leaf,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<(Stack<ReqwestHandle, ReqwestRules, Leaf>, Client), ReqwestBuildError>
where
    Resolver: Service<Target, Response = Resolved<Origin>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    Target: Clone + Send + 'static,
    Leaf: Clone,
{
    let timing = door.timing()?;
    let configured = configured(&door, timing, configure)?;
    let client = build_client(configured())?;
    let rules = ReqwestRules::with_policy(door.policy());
    Ok((door.over(timing, rules, leaf, move |origin| ReqwestHandle::new(origin, configured()))?, client))
}

/// What makes the builder of each client.
fn configured<Resolver, Target>(
    door: &HttpRecovery<Resolver, Target>,
    timing: CallTiming,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<impl Fn() -> ClientBuilder + Clone + Send + Sync + 'static, InvalidSetting> {
    let transport = door.transport_under(timing)?;
    if let Some((field, value)) = transport.set_beside_the_time() {
        return Err(InvalidSetting::new(field, value, "left to the closure that configures reqwest"));
    }
    let limit = transport.connect_limit();
    let configure = Arc::new(configure);
    Ok(move || configure(ClientBuilder::new().connect_timeout(limit)))
}
