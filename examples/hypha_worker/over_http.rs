//! The same artifact manager over Hypha's HTTP API, for a process that has no websocket for its calls: `/{workspace}/services/{client}:{service}/{method}`.
//!
//! What is Hypha's here is where a request goes and what an answer proves. The rest are the layers, put together by hand.

use std::{error::Error, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::Full;
use tower::{BoxError, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, Classify, ClassifyLayer, Dispatch, Failure, HandleCache, LinearBackoff, LookUp,
    Observer, ReadOnlyRetryLayer, ReresolveLayer, Resolved, Verdict,
};
use tower_recovery_http::{
    CollectLayer, CollectedBody, HttpClassifier, HttpRules, Origin, OriginHandle, ReadRoutes, Silence, Transport,
};
use tower_recovery_hypha::{HyphaClient, HyphaResolver, RemoteService, ServiceId, ServiceQuery, http_verdict};

use super::worker::{ATTEMPT_TIMEOUT, SUSPECT_AFTER};

/// A tower service of requests whose path is a method: `GET /read?artifact_id=…`, or `POST /commit` with its arguments in JSON.
pub(crate) type ArtifactsOverHttp = BoxCloneSyncService<Request<Full<Bytes>>, Response<Bytes>, Failure>;

/// The registry is asked over the client's websocket. Which client a call goes to is named, so that its failures are those of this one.
pub(crate) fn artifacts(
    client: &HyphaClient,
    server: Origin,
    token: &str,
    watch: impl Observer + Clone + 'static,
) -> Result<ArtifactsOverHttp, BoxError> {
    let mut authorization: HeaderValue = format!("Bearer {token}").parse()?;
    authorization.set_sensitive(true);
    let resolver = HyphaResolver::new(client.clone());
    let handles = ServiceExt::<LookUp<ServiceQuery>>::map_result(resolver, move |found| {
        let Resolved { identity, handle: found } = found?;
        let handle = handle(server.clone(), authorization.clone(), &found);
        handle.map(|handle| Resolved::new(identity, handle))
    });
    let id: ServiceId = "artifact-manager".parse()?;
    let cache = HandleCache::telling_of_evictions(handles, ServiceQuery::from(id))
        .named("artifact manager over HTTP")
        .suspect_after(SUSPECT_AFTER)?
        .observer(watch.clone())
        .build();
    let timing = CallTiming::builder().attempts(8).attempt_timeout(ATTEMPT_TIMEOUT).build()?;
    let retry = ReadOnlyRetryLayer::new(HttpRules::new(reads()?))
        .named("artifacts over HTTP")
        .timing(timing)
        .backoff(LinearBackoff::new(Duration::from_millis(100), Duration::from_secs(1)))
        .observer(watch);
    let stack = ServiceBuilder::new()
        .layer(retry)
        .layer(ReresolveLayer::new(cache))
        .layer(ClassifyLayer::new(HyphaAnswers::default()))
        .map_response(|answer: Response<CollectedBody>| answer.map(CollectedBody::to_bytes))
        .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
        .layer(CollectLayer::new(1 << 20))
        .service(Dispatch);
    Ok(BoxCloneSyncService::new(stack))
}

/// A `GET` calls a method, like a `POST`: so what reads is listed, and nothing else is a read.
fn reads() -> Result<ReadRoutes, BoxError> {
    let mut reads = ReadRoutes::listed_only();
    for counted in ["/read", "/list", "/get_file"] {
        reads = reads.silent(Method::GET, counted, Silence::query("silent", "1")?)?;
    }
    for read in ["/search", "/read_file", "/list_files"] {
        reads = reads.read(Method::GET, read)?;
    }
    Ok(reads)
}

type Handle = BoxCloneSyncService<Request<Full<Bytes>>, Response<hyper::body::Incoming>, BoxError>;

/// Calls the one client that a name was resolved to, and says with the answer which one that was.
fn handle(server: Origin, authorization: HeaderValue, found: &RemoteService) -> Result<Handle, BoxError> {
    let called = Called { peer: Arc::clone(found.peer()), service: Arc::clone(found.service()) };
    let (workspace, client) = called.peer.split_once('/').ok_or("a peer is workspace/client")?;
    let base = format!("/{workspace}/services/{client}:{}", called.service);
    let handle = ServiceBuilder::new()
        .map_request(move |mut request: Request<Full<Bytes>>| {
            let method = request.uri().path_and_query().map_or("", |method| method.as_str());
            let uri = Uri::try_from(format!("{base}{method}")).expect("a path before a path is one");
            *request.uri_mut() = uri;
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
            request
        })
        .map_response(move |mut answer: Response<_>| {
            answer.extensions_mut().insert(called.clone());
            answer
        })
        .service(OriginHandle::new(server, &Transport::new())?);
    Ok(BoxCloneSyncService::new(handle))
}

/// Whose answer it is: a classifier sees nothing else of the request.
#[derive(Clone)]
struct Called {
    peer: Arc<str>,
    service: Arc<str>,
}

/// What Hypha's answers prove, and for all else what HTTP's do.
#[derive(Clone, Default)]
struct HyphaAnswers(HttpClassifier);

impl Classify<Response<Bytes>> for HyphaAnswers {
    fn response(&self, answer: &Response<Bytes>) -> Option<Verdict> {
        let of_hypha = || {
            let Called { peer, service } = answer.extensions().get()?;
            http_verdict(answer.status(), answer.body(), peer, service)
        };
        self.0.response(answer).or_else(of_hypha)
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        Classify::<Response<Bytes>>::error(&self.0, error)
    }
}
