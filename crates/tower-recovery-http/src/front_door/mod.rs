//! `Recovery::http`: the recommended stack in the right order.

mod build;
mod settings;

use tower_recovery::{Recovery, Resolved};
use tower_service::Service;

#[cfg(any(feature = "reqwest", feature = "reqwest-0-12"))]
pub(crate) use self::build::{Stack, StreamsOver};
pub use self::{
    build::{CollectedBody, HttpStack, HttpStreamsOverPools, SendSideHttpStack, StreamingHttpStack},
    settings::HttpRecovery,
};
use crate::Origin;

/// Adds [`Recovery::http`](HttpFrontDoor::http).
pub trait HttpFrontDoor {
    /// A stack for the service that this resolver finds under this target.
    fn http<Resolver, Target>(resolver: Resolver, target: Target) -> HttpRecovery<Resolver, Target>
    where
        Resolver: Service<Target, Response = Resolved<Origin>>;
}

impl HttpFrontDoor for Recovery {
    fn http<Resolver, Target>(resolver: Resolver, target: Target) -> HttpRecovery<Resolver, Target>
    where
        Resolver: Service<Target, Response = Resolved<Origin>>,
    {
        HttpRecovery::new(resolver, target)
    }
}
