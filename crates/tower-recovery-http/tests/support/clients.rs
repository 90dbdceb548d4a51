//! One and the same stack over every client of the crate.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body_util::Full;
use tokio::task::yield_now;
use tower::{ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, ClassifyLayer, Dispatch, Failure, HandleCache, LinearBackoff, ReadOnlyRetryLayer,
    ReresolveLayer, Resolved, attempt_timeout::AttemptTimeout, classify::ClassifyService,
    read_only_retry::ReadOnlyRetry, reresolve::Reresolve,
};
use tower_recovery_http::{
    CollectLayer, CollectedBody, ConnectLayer, ConnectionHandle, HttpClassifier, HttpRules, HttpStack, Origin,
    Protocol, Transport, collect::Collect,
};
use tower_recovery_test::{FaultyServer, Registry, faulty::FaultyServerBuilder};

use super::{NAME, door, reads};

type Body = Full<Bytes>;

/// What carries the requests of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// The front door, whose handles have a pool each.
    Pool(Protocol),
    /// The same layers over handles of one connection.
    Connection(Protocol),
}

impl Client {
    pub(crate) const HTTP1: [Self; 2] = [Self::Pool(Protocol::Http1), Self::Connection(Protocol::Http1)];
    #[cfg(feature = "http2")]
    pub(crate) const HTTP2: [Self; 2] = [Self::Pool(Protocol::Http2), Self::Connection(Protocol::Http2)];

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let all = Self::HTTP1.into_iter();
        #[cfg(feature = "http2")]
        let all = all.chain(Self::HTTP2);
        all
    }

    fn protocol(self) -> Protocol {
        match self {
            Self::Pool(protocol) | Self::Connection(protocol) => protocol,
        }
    }

    pub(crate) fn is_http1(self) -> bool {
        self.protocol() == Protocol::Http1
    }

    /// A server that speaks what this client speaks, and answers `done` unless it was told otherwise.
    pub(crate) async fn serve(
        self,
        configure: impl FnOnce(FaultyServerBuilder) -> FaultyServerBuilder,
    ) -> FaultyServer {
        let server = configure(FaultyServer::builder().application(|_| Response::new(Bytes::from_static(b"done"))));
        let server = if self.is_http1() { server } else { server.http2() };
        server.start().await.expect("a port is free")
    }

    pub(crate) fn api(self, registry: &Registry<Origin>) -> Api {
        self.api_with(registry, Settings::default())
    }

    pub(crate) fn api_with(self, registry: &Registry<Origin>, settings: Settings) -> Api {
        let Settings { transport, attempt_timeout, backoff } = settings;
        let transport = transport.protocol(self.protocol());
        if let Self::Pool(_) = self {
            let door = door(registry).transport(transport).attempt_timeout(attempt_timeout).backoff(backoff);
            return Api::Pool(Box::new(door.build().expect("the settings fit together")));
        }
        let last = LastHandle::default();
        let keep = Arc::clone(&last);
        let connected = move |found: Resolved<ConnectionHandle<Body>>| {
            *keep.lock().expect("no holder panics") = Some(found.handle.clone());
            found
        };
        let handles = ServiceBuilder::new()
            .map_response(connected)
            .layer(ConnectLayer::new(transport))
            .service(registry.resolver());
        let timing = CallTiming::builder().attempt_timeout(attempt_timeout).build().expect("it is above zero");
        let stack = ServiceBuilder::new()
            .layer(ReadOnlyRetryLayer::new(HttpRules::new(reads())).timing(timing).backoff(backoff))
            .layer(ReresolveLayer::new(HandleCache::new(handles, NAME)))
            .layer(ClassifyLayer::new(HttpClassifier::new()))
            .layer(AttemptTimeoutLayer::new(attempt_timeout))
            .layer(CollectLayer::new(16 << 20))
            .service(Dispatch);
        Api::Connection { stack, last }
    }
}

/// What differs from the defaults.
pub(crate) struct Settings {
    pub(crate) transport: Transport,
    pub(crate) attempt_timeout: Duration,
    pub(crate) backoff: LinearBackoff,
}

impl Default for Settings {
    fn default() -> Self {
        let attempt_timeout = CallTiming::default().attempt_timeout();
        Self { transport: Transport::new(), attempt_timeout, backoff: LinearBackoff::default() }
    }
}

/// A stack over one of the clients.
#[derive(Clone)]
pub(crate) enum Api {
    Pool(Box<HttpStack<Body>>),
    Connection { stack: ConnectionStack, last: LastHandle },
}

type ConnectionStack = ReadOnlyRetry<
    Reresolve<ClassifyService<AttemptTimeout<Collect<Dispatch>>, HttpClassifier>, ConnectionHandle<Body>>,
    HttpRules<Body>,
>;

type LastHandle = Arc<Mutex<Option<ConnectionHandle<Body>>>>;

impl Api {
    /// One call. It begins when it is polled.
    pub(crate) fn send(&self, request: Request<Body>) -> BoxFuture<'static, Result<Response<CollectedBody>, Failure>> {
        match self {
            Self::Pool(stack) => HttpStack::clone(stack).oneshot(request).boxed(),
            Self::Connection { stack, .. } => stack.clone().oneshot(request).boxed(),
        }
    }

    /// One call, to its answer's text.
    pub(crate) async fn text(&self, request: Request<Body>) -> Result<Bytes, Failure> {
        Ok(self.send(request).await?.into_body().to_bytes())
    }

    /// Waits until a handle of one connection knows that this has ended. A pool does not tell.
    pub(crate) async fn sees_the_end(&self) {
        let Self::Connection { last, .. } = self else { return };
        let handle = last.lock().expect("no holder panics").clone().expect("it was connected");
        while handle.clone().ready().await.is_ok() {
            yield_now().await;
        }
    }
}
