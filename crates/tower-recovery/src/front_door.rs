//! Where the adapters hang their front doors.

/// The front doors: each adapter adds a function here that builds the recommended stack for its protocol, in the right order.
///
/// `tower_recovery_http::HttpFrontDoor` adds `Recovery::http`, and `tower_recovery_hypha::HyphaFrontDoor` adds `Recovery::hypha`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Recovery;
