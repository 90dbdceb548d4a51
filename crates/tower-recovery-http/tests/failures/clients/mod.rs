//! The columns: each client, over each protocol.

mod hyper;
mod hyper_util;
mod reqwest;

use std::{convert::Infallible, fmt, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{AttemptTimeoutLayer, ClassifyLayer, Dispatch, Failure, HandleCache, ReresolveLayer, Resolved};
use tower_recovery_http::{
    CollectLayer, CollectedBody, HttpClassifier, Intermediary, Origin, Protocol, Transport, collect::HasMethod,
};

/// How long an attempt may take.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(20);

pub(crate) type RequestBody = BoxBody<Bytes, BoxError>;

/// One attempt a call: what the failure proves comes out as it is.
pub(crate) type Stack = Box<dyn Fn(Request<RequestBody>) -> BoxFuture<'static, Answered>>;

pub(crate) type Answered = Result<Response<CollectedBody>, Failure>;

/// A client under test.
pub(crate) trait Client {
    fn name(&self) -> &'static str;

    /// Whether it can be made to trust the tests' authority.
    fn has_tls(&self) -> bool {
        true
    }

    /// Whether a handle is a connection, so that there is none where there is no connection.
    fn is_connected_by_the_resolver(&self) -> bool {
        false
    }

    /// Whether it is built so that a body does not say that it is at its end.
    fn hides_ends(&self) -> bool {
        false
    }

    /// The stack above this client.
    fn stack(&self, way: &Way) -> Stack;
}

/// How the server is reached.
pub(crate) struct Way {
    pub(crate) origin: Origin,
    pub(crate) http: Http,
    pub(crate) tls: Option<rustls::ClientConfig>,
    pub(crate) connect_timeout: Duration,
    pub(crate) intermediary: Intermediary,
    /// Whether a connection that has ended passes for ready, as for one who has looked a moment before.
    pub(crate) is_late: bool,
    /// Whether clean ends of bodies must be trusted.
    pub(crate) hides_ends: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Http {
    One,
    Two,
}

impl fmt::Display for Http {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::One => "HTTP/1",
            Self::Two => "HTTP/2",
        })
    }
}

/// A client and what it speaks.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) client: &'static dyn Client,
    pub(crate) http: Http,
}

impl fmt::Display for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.client.name(), self.http)
    }
}

pub(crate) fn columns() -> Vec<Column> {
    let clients: [&'static dyn Client; 4] =
        [&hyper::Hyper, &hyper_util::HyperUtil, &reqwest::Reqwest013, &reqwest::Reqwest012];
    let of = |client| [Http::One, Http::Two].map(|http| Column { client, http });
    clients.into_iter().flat_map(of).collect()
}

/// The layers, over what gives handles of a client.
fn over<Resolver, Handle, Sent, Body>(
    way: &Way,
    handles: Resolver,
    sent: impl Fn(Request<RequestBody>) -> Sent + 'static,
) -> Stack
where
    Resolver: Service<(), Response = Resolved<Handle>, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
    Handle: Service<Sent, Response = Response<Body>, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
    Sent: HasMethod + Send + 'static,
    Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let collect = CollectLayer::new(1 << 20);
    let stack = ServiceBuilder::new()
        .layer(ReresolveLayer::new(HandleCache::new(handles, ())))
        .layer(ClassifyLayer::new(classifier(way.intermediary)))
        .layer(AttemptTimeoutLayer::new(ATTEMPT))
        .layer(if way.hides_ends { collect.trust_clean_ends() } else { collect })
        .service(Dispatch);
    Box::new(move |request| stack.clone().oneshot(sent(request)).boxed())
}

pub(crate) fn classifier(intermediary: Intermediary) -> HttpClassifier {
    HttpClassifier::new().behind(intermediary)
}

/// The registry: it knows one instance.
fn registry(
    origin: Origin,
) -> impl Service<(), Response = Resolved<Origin>, Error = Infallible, Future: Send + 'static> + Clone + Send + Sync {
    service_fn(move |()| std::future::ready(Ok(Resolved::from(origin.clone()))))
}

impl Way {
    fn transport(&self) -> Transport {
        let protocol = match self.http {
            Http::One => Protocol::Http1,
            Http::Two => Protocol::Http2,
        };
        let transport = Transport::new().connect_timeout(self.connect_timeout).protocol(protocol);
        match &self.tls {
            Some(tls) => transport.tls(tls.clone()),
            None => transport,
        }
    }
}
