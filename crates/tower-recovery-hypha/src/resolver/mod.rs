//! From the name of a service to one client that offers it.

mod choice;
mod error;

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tower_recovery::{Failure, Identity, LookUp, Resolved, Verdict};
use tower_service::Service;

use self::choice::{Choice, Found};
pub use self::error::ResolveServiceError;
use crate::{
    Call, CallError, HyphaClient, RemoteService, SelectionMode, ServiceId, ServiceInfo,
    calls::{Patience, Target},
    client::{self, Lane},
    manager,
    remote_service::within_bounds,
};

/// What is to be found: a name, and which one is taken if several clients offer it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ServiceQuery {
    /// The name.
    pub id: ServiceId,
    /// Which one is taken.
    pub mode: SelectionMode,
}

impl ServiceQuery {
    /// This name, taken by this mode.
    #[must_use]
    pub fn new(id: ServiceId, mode: SelectionMode) -> Self {
        Self { id, mode }
    }
}

impl From<ServiceId> for ServiceQuery {
    fn from(id: ServiceId) -> Self {
        Self { id, mode: SelectionMode::default() }
    }
}

/// Resolves names by the server's registry: for a [`HandleCache`](tower_recovery::HandleCache) that [tells of evictions](tower_recovery::HandleCache::telling_of_evictions).
///
/// The identity of a handle is the client that offers the service, `workspace/client`. The registry is asked, and not the client: a look-up is not held up by one that is frozen.
///
/// # Several under one name
///
/// A provider that froze stays in the registry beside the one that took its place, until the registry notices. Then
///
/// - the one whom a failure has just evicted is not named again while there is another one that answers a ping, and then only if it answers one itself;
/// - a look-up beside a handle that serves names the same one for as long as it is listed, and is the only one or answers a ping;
/// - after an eviction, and where the one that served has gone from the registry, the server's choice is taken if it is the only one, or answers a ping, and otherwise the first that does;
/// - otherwise the server chooses by the [mode](SelectionMode). Where that says that there must be only one and there are several, those that are left are pinged, and the first to answer is
///   taken; under [`SelectionMode::Exact`], which was asked for, that is an [error](ResolveServiceError::Ambiguous) unless only one is left.
///
/// # Errors
///
/// [`ResolveServiceError`]; as a permanent [`Failure`] where the registry forbids the look-up, or the server refuses this client.
#[derive(Clone)]
pub struct HyphaResolver {
    client: HyphaClient,
    ping_timeout: Duration,
    connection_wait: Option<Duration>,
}

impl HyphaResolver {
    /// A resolver that asks over this client's connection.
    #[must_use]
    pub fn new(client: HyphaClient) -> Self {
        Self { client, ping_timeout: Duration::from_secs(2), connection_wait: None }
    }

    /// How long a client has to answer a ping, where one of several must be chosen. Taken as at least 1 ms and at most 7 days; default: 2 s.
    #[must_use]
    pub fn ping_timeout(mut self, limit: Duration) -> Self {
        self.ping_timeout = within_bounds(limit);
        self
    }

    /// How long calls of its handles wait for a connection to the server, see [`RemoteService::connection_wait`].
    #[must_use]
    pub fn connection_wait(mut self, limit: Duration) -> Self {
        self.connection_wait = Some(limit);
        self
    }

    async fn resolve(&self, look_up: LookUp<ServiceQuery>) -> Result<Resolved<RemoteService>, ResolveServiceError> {
        let LookUp { target: query, evicted, serving, .. } = look_up;
        let (evicted, serving) = (evicted.as_ref().map(Identity::as_str), serving.as_ref().map(Identity::as_str));
        let info = self.find(&query, evicted, serving).await?;
        let mut handle = RemoteService::new(self.client.clone(), &info);
        if let Some(limit) = self.connection_wait {
            handle = handle.connection_wait(limit);
        }
        Ok(Resolved::new(Arc::clone(&info.peer), handle))
    }

    async fn find(
        &self,
        query: &ServiceQuery,
        evicted: Option<&str>,
        serving: Option<&str>,
    ) -> Result<ServiceInfo, ResolveServiceError> {
        let shared = self.client.shared();
        let found = match manager::service_info(shared, &query.id, &query.mode).await {
            Ok(info) => Found::One(info),
            Err(error) if is_ambiguous(&error, &query.id, &shared.workspace().unwrap_or_default()) => Found::Several,
            Err(error) => return Err(error.into()),
        };
        let is_the_only_one = choice::is_the_only_one(query, &shared.workspace().unwrap_or_default());
        if let Some(info) = choice::settled(&found, evicted, serving, is_the_only_one) {
            return Ok(info.clone());
        }
        let listed = match (manager::list_services(shared, &query.id).await, &found) {
            (Ok(listed), _) => listed,
            // The registry lists nothing for this client, but names one.
            (Err(CallError::Remote(_)), Found::One(info)) => return Ok(info.clone()),
            (Err(error), _) => return Err(error.into()),
        };
        match choice::choose(found, listed, evicted, serving, &query.mode) {
            Choice::Take(info) => Ok(info),
            Choice::FirstToAnswer { preferred, others, last_resort } => {
                let asked = others.len() + usize::from(last_resort.is_some()) + usize::from(preferred.is_some());
                if let Some(preferred) = preferred
                    && self.answers(&preferred).await?
                {
                    return Ok(preferred);
                }
                if let Some(info) = self.first_to_answer(others).await? {
                    return Ok(info);
                }
                if let Some(info) = last_resort
                    && self.answers(&info).await?
                {
                    return Ok(info);
                }
                Err(ResolveServiceError::NobodyAnswers { id: query.id.to_string(), asked })
            }
            Choice::Ambiguous(peers) => Err(ResolveServiceError::Ambiguous { id: query.id.to_string(), peers }),
        }
    }

    async fn first_to_answer(&self, candidates: Vec<ServiceInfo>) -> Result<Option<ServiceInfo>, CallError> {
        let mut pings: FuturesUnordered<_> = candidates
            .into_iter()
            .map(|candidate| async move { Ok(self.answers(&candidate).await?.then_some(candidate)) })
            .collect();
        while let Some(answered) = pings.next().await {
            if let Some(info) = answered? {
                return Ok(Some(info));
            }
        }
        Ok(None)
    }

    /// Whether it lives. What goes wrong on our own side says nothing about it, and is the look-up's error.
    async fn answers(&self, info: &ServiceInfo) -> Result<bool, CallError> {
        let shared = self.client.shared();
        let patience = Patience { answer: self.ping_timeout, connection: self.ping_timeout };
        let ping = Call::new("ping").arg("ping");
        let pong = client::call(shared, Target::Peer(Arc::clone(&info.peer)), "built-in", &ping, patience, Lane::Rest);
        match pong.await {
            Ok(_) | Err(CallError::Remote(_) | CallError::MethodNotFound { .. }) => Ok(true),
            Err(
                CallError::TimedOut { .. } | CallError::PeerNotConnected { .. } | CallError::PeerDisconnected { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The registry's words, as a whole up to its list of examples, and for this name alone.
fn is_ambiguous(error: &CallError, id: &ServiceId, workspace: &str) -> bool {
    let CallError::Remote(error) = error else { return false };
    let id = id.within(workspace);
    let id = id.split('@').next().unwrap_or(&id);
    error.kind() == "AssertionError" && error.message().starts_with(&format!("Multiple services found for {id}, e.g. "))
}

impl Service<LookUp<ServiceQuery>> for HyphaResolver {
    type Response = Resolved<RemoteService>;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Resolved<RemoteService>, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, look_up: LookUp<ServiceQuery>) -> Self::Future {
        let resolver = self.clone();
        async move { resolver.resolve(look_up).await.map_err(failure) }.boxed()
    }
}

/// That the registry forbids it will not change by asking again.
fn failure(error: ResolveServiceError) -> Failure {
    let is_forbidden =
        matches!(&error, ResolveServiceError::Call(CallError::Remote(error)) if error.kind() == "PermissionError");
    let is_refused = matches!(&error, ResolveServiceError::Call(CallError::Refused(_)));
    let verdict = Verdict::never_sent();
    Failure::new(if is_forbidden || is_refused { verdict.permanent() } else { verdict }, error)
}

impl fmt::Debug for HyphaResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HyphaResolver")
            .field("client", &self.client)
            .field("ping_timeout", &self.ping_timeout)
            .finish_non_exhaustive()
    }
}
