//! Who is compared: ways to hold the handle, behind one type.

use std::{
    future::{Ready, ready},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, retry::Policy, util::BoxCloneSyncService};
use tower_recovery::{Observer, Recovery, Resolved};
use tower_recovery_http::{
    CollectLayer, CollectedBody, HttpFrontDoor, HttpRecovery, Origin, OriginHandle, ReadRoutes, Silence, Transport,
};

use super::{DEADLINE, SUSPECT_AFTER, TIMEOUT};

const NAME: &str = "artifact-manager";
/// As many as our stack makes.
const ATTEMPTS: usize = 3;
const BODY_LIMIT: usize = 1 << 16;

pub(crate) type Client = BoxCloneSyncService<Request<Full<Bytes>>, Response<CollectedBody>, BoxError>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    /// The handle is resolved once and kept: the origin of the incident.
    Cached,
    /// The same under `tower::retry`, which repeats every error.
    RetryAll,
    /// Our stack, with the timeout of the others for each attempt.
    Recovery,
    /// Our stack, with a deadline that is shorter than the timeout of the others.
    RecoveryDeadline,
    /// Our stack, with the timeout of the others, whose reads suspect their handle before.
    RecoverySuspicion,
}

impl Contender {
    pub(crate) const ALL: [Self; 5] =
        [Self::Cached, Self::RetryAll, Self::Recovery, Self::RecoveryDeadline, Self::RecoverySuspicion];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::RetryAll => "retry_all",
            Self::Recovery => "recovery",
            Self::RecoveryDeadline => "recovery_deadline",
            Self::RecoverySuspicion => "recovery_suspicion",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Recovery | Self::RecoveryDeadline | Self::RecoverySuspicion)
    }

    pub(crate) async fn connect(self, registry: RegistryClient, observer: impl Observer + 'static) -> Client {
        match self {
            Self::Cached => BoxCloneSyncService::new(
                ServiceBuilder::new()
                    .timeout(TIMEOUT)
                    .layer(CollectLayer::new(BODY_LIMIT))
                    .service(registry.resolve_once().await),
            ),
            Self::RetryAll => BoxCloneSyncService::new(
                ServiceBuilder::new()
                    .retry(EveryError { left: ATTEMPTS - 1 })
                    .timeout(TIMEOUT)
                    .layer(CollectLayer::new(BODY_LIMIT))
                    .service(registry.resolve_once().await),
            ),
            Self::Recovery => recovering(artifact_manager(registry).observer(observer).attempt_timeout(TIMEOUT)),
            Self::RecoveryDeadline => recovering(artifact_manager(registry).observer(observer).deadline(DEADLINE)),
            Self::RecoverySuspicion => recovering(
                artifact_manager(registry).observer(observer).attempt_timeout(TIMEOUT).suspect_after(SUSPECT_AFTER),
            ),
        }
    }
}

/// The one place where the stack is put around the handle.
fn artifact_manager(registry: RegistryClient) -> HttpRecovery<RegistryClient, &'static str> {
    let reads = Silence::query("silent", "true")
        .and_then(|silence| ReadRoutes::listed_only().silent(Method::GET, "/artifacts/{id}", silence))
        .expect("the route is well formed");
    Recovery::http(registry, NAME).named("artifact manager service proxy").reads(reads).body_limit(BODY_LIMIT)
}

fn recovering(stack: HttpRecovery<RegistryClient, &'static str>) -> Client {
    let stack = stack.build().expect("the settings are within their bounds");
    BoxCloneSyncService::new(stack.map_err(BoxError::from))
}

/// Retry and hope.
#[derive(Clone)]
struct EveryError {
    left: usize,
}

impl<Answer> Policy<Request<Full<Bytes>>, Answer, BoxError> for EveryError {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Request<Full<Bytes>>, outcome: &mut Result<Answer, BoxError>) -> Option<Ready<()>> {
        outcome.as_ref().err()?;
        self.left = self.left.checked_sub(1)?;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

/// The registry over HTTP: a resolver like any other.
#[derive(Clone)]
pub(crate) struct RegistryClient {
    client: OriginHandle<Full<Bytes>>,
}

#[derive(serde::Deserialize)]
struct Registration {
    client_id: String,
    origin: String,
}

impl RegistryClient {
    pub(crate) fn new(registry: Origin) -> Self {
        Self { client: client_of(registry) }
    }

    async fn resolve_once(self) -> OriginHandle<Full<Bytes>> {
        let found = self.oneshot(NAME).await.expect("the registry answers");
        client_of(found.handle)
    }
}

fn client_of(origin: Origin) -> OriginHandle<Full<Bytes>> {
    OriginHandle::new(origin, &Transport::new().connect_timeout(TIMEOUT))
        .expect("the servers of this example speak cleartext")
}

impl Service<&'static str> for RegistryClient {
    type Response = Resolved<Origin>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Resolved<Origin>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.client.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: &'static str) -> Self::Future {
        let request = Request::get(format!("/services/{name}")).body(Full::default());
        let answer = request.map(|request| self.client.call(request));
        Box::pin(async move {
            let body = answer?.await?.into_body().collect().await?.to_bytes();
            let Registration { client_id, origin } = serde_json::from_slice(&body)?;
            Ok(Resolved::new(client_id, origin.parse()?))
        })
    }
}
