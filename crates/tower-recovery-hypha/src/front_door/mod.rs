//! `Recovery::hypha`: the recommended stack in the right order.

mod build;
mod settings;

use tower_recovery::Recovery;

pub use self::{build::HyphaStack, settings::HyphaRecovery};
use crate::{HyphaClient, ServiceQuery};

/// Adds [`Recovery::hypha`](HyphaFrontDoor::hypha).
pub trait HyphaFrontDoor {
    /// A stack for the service that this client's server knows under this name.
    fn hypha(client: &HyphaClient, service: impl Into<ServiceQuery>) -> HyphaRecovery;
}

impl HyphaFrontDoor for Recovery {
    fn hypha(client: &HyphaClient, service: impl Into<ServiceQuery>) -> HyphaRecovery {
        HyphaRecovery::new(client.clone(), service.into())
    }
}
