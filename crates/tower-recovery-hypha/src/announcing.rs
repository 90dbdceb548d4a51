//! What has to be said first over a new connection.

use std::sync::Arc;

use rmpv::Value;

use crate::{
    CallError, ConnectError, ConnectionStatus,
    client::{Lane, Shared},
    manager,
    serving::built_in_registration,
};

/// Registers what the client offers, asks to be told of clients that leave and of services that are taken away, and says that the connection is there.
///
/// The service that every client must have comes first: without it the registry drops the others, and says that it has them.
pub(crate) async fn announce(shared: &Arc<Shared>) -> Result<(), ConnectError> {
    shared.services.next_nonce();
    let refused = |service: &str| {
        let service = service.into();
        move |error| ConnectError::Registration { service, source: Box::new(error) }
    };
    match manager::register_info(shared, built_in(shared), Lane::Urgent).await {
        // A token that may only read cannot register anything. It can call.
        Err(CallError::Remote(error))
            if error.kind() == "PermissionError" && shared.services.offers.all().is_empty() =>
        {
            tracing::debug!(%error, "the client is not registered");
        }
        outcome => outcome.map_err(refused("built-in"))?,
    }
    for service in shared.services.offers.all() {
        manager::register(shared, &service, Lane::Urgent).await.map_err(refused(service.name()))?;
        shared.services.offers.confirm(&service);
    }
    // Calls to a client that leaves end then, and not when their time is up; a registration that somebody takes away is missed sooner. Nothing else depends on it.
    if let Err(error) = manager::subscribe(shared, &["client_disconnected", "service_removed"]).await {
        tracing::debug!(error = &error as &dyn std::error::Error, "the server tells of nobody that leaves");
    }
    tracing::info!(client = %shared.own_id(), "connected");
    shared.status.send_replace(ConnectionStatus::Connected);
    Ok(())
}

fn built_in(shared: &Shared) -> Value {
    let workspace = shared.workspace().unwrap_or_default();
    let settings = &shared.settings;
    built_in_registration(&workspace, &settings.client_id, &settings.app_id, &shared.services.nonce())
}
