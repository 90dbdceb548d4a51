//! A service of another client, as a handle.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rmpv::Value;
use tower_service::Service;

use crate::{Call, CallError, CallFuture, HyphaClient, PeerCall, SelectionMode, ServiceId, ServiceInfo, manager};

/// A service of one client: what a name was resolved to. It goes on pointing at that client, also when the client has gone.
///
/// It is a tower service of [`Call`], and the handle of a stack.
///
/// # Readiness
///
/// That of the [client](HyphaClient).
///
/// # Cancel safety
///
/// That of the [client](HyphaClient).
#[derive(Clone)]
pub struct RemoteService {
    client: HyphaClient,
    peer: Arc<str>,
    service: Arc<str>,
    connection_wait: Option<Duration>,
}

impl RemoteService {
    pub(crate) fn new(client: HyphaClient, info: &ServiceInfo) -> Self {
        Self { client, peer: Arc::clone(&info.peer), service: Arc::clone(&info.name), connection_wait: None }
    }

    /// Who offers it: `workspace/client`.
    #[must_use]
    pub fn peer(&self) -> &Arc<str> {
        &self.peer
    }

    /// What it is called there.
    #[must_use]
    pub fn service(&self) -> &Arc<str> {
        &self.service
    }

    /// How long a call waits for a connection to the server while there is none; otherwise as long as the [client](crate::HyphaClientBuilder::connection_wait) says. Taken as at least 1 ms and at most 7 days.
    #[must_use]
    pub fn connection_wait(mut self, limit: Duration) -> Self {
        self.connection_wait = Some(within_bounds(limit));
        self
    }

    /// Calls a method.
    ///
    /// # Errors
    ///
    /// [`CallError`], which says where it arose.
    ///
    /// # Cancel safety
    ///
    /// That of the [client](HyphaClient).
    pub fn call_method(&self, call: Call) -> CallFuture {
        let call = PeerCall::new(Arc::clone(&self.peer), Arc::clone(&self.service), call);
        self.client.peer_call(call, self.connection_wait)
    }
}

impl HyphaClient {
    /// The service of this name. The registry is asked, not the one who offers it; if several do, the workspace's rule says which is taken, see [`SelectionMode`].
    ///
    /// # Errors
    ///
    /// [`CallError::ServiceNotFound`], or why there was no answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future forgets the question.
    pub async fn find(&self, id: &ServiceId) -> Result<RemoteService, CallError> {
        self.find_by(id, &SelectionMode::Unspecified).await
    }

    /// The same, with a say in which is taken.
    ///
    /// # Errors
    ///
    /// [`CallError::ServiceNotFound`], or why there was no answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future forgets the question.
    pub async fn find_by(&self, id: &ServiceId, mode: &SelectionMode) -> Result<RemoteService, CallError> {
        let info = manager::service_info(self.shared(), id, mode).await?;
        Ok(RemoteService::new(self.clone(), &info))
    }

    /// All services that this name means, as far as they are listed for this client.
    ///
    /// # Errors
    ///
    /// Why there was no answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future forgets the question.
    pub async fn list(&self, id: &ServiceId) -> Result<Vec<ServiceInfo>, CallError> {
        manager::list_services(self.shared(), id).await
    }
}

impl Service<Call> for RemoteService {
    type Response = Value;
    type Error = CallError;
    type Future = CallFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        self.call_method(call)
    }
}

/// What a wait may be, so that no sum of times overflows, and what can be sent at once is sent.
pub(crate) fn within_bounds(wait: Duration) -> Duration {
    wait.clamp(Duration::from_millis(1), Duration::from_secs(7 * 24 * 60 * 60))
}

impl fmt::Debug for RemoteService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteService")
            .field("peer", &self.peer)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
