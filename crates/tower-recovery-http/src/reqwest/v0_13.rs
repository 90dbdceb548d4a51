//! reqwest 0.13 as the client: [`HttpRecovery::reqwest`] and what it is made of.
//!
//! A service of `reqwest::Request`, which takes what a `reqwest::RequestBuilder` can say and gives `reqwest::Response`. One handle is one origin
//! and a `reqwest::Client` of its own, so that a frozen connection goes with its handle.
//!
//! **What is not reqwest's any more**:
//!
//! - *Retries* are the stack's. reqwest's own are off, whatever the closure asks for, since nobody would count them.
//! - *Redirects* are answers, whatever the closure asks for: followed to a host that refuses the connection, an executed write would look like one
//!   that was never sent. Follow them above the stack. `error_for_status` does not see them as errors.
//! - *Scheme, host and port* are the origin's. Path and query stay; a request whose scheme is neither `http` nor `https` is refused. Set no `Host` where HTTP/2 may be
//!   spoken: reqwest sends it beside the origin's `:authority`, which RFC 9113 §8.3.1 calls malformed.
//!
//! **What stays reqwest's**: TLS, HTTP/2, DNS, proxies, default headers and decompression are set in the closure. Whoever sets no proxy there gets those of
//! the system, as ever with reqwest: behind one, say [`behind(Intermediary::Present)`](crate::Intermediary), or what the proxy says of itself
//! is taken for the server's word. A time-out of reqwest's own, if one is set, ends an attempt like a broken connection: maybe sent. Its time for
//! making a connection has the front door's default.
//!
//! A client is built for each new handle. Cookies that reqwest keeps go with the handle, unless the closure brings a store of its own. What is
//! expensive about a client, such as its root certificates, is better loaded before the closure and cloned in it.
//!
//! # Examples
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//! use tower::service_fn;
//! use tower_recovery::{Recovery, Resolved};
//! use tower_recovery_http::{HttpFrontDoor, Origin, ReadRoutes};
//! use tower_recovery_test::FaultyServer;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let server = FaultyServer::builder().application(|_| http::Response::new("3 artifacts".into())).start().await?;
//! # let address = server.origin();
//! let origin: Origin = address.parse()?;
//! let resolver = service_fn(move |_name: &'static str| {
//!     let found = Resolved::from(origin.clone());
//!     async move { Ok::<_, Infallible>(found) }
//! });
//!
//! let api = Recovery::http(resolver, "artifact-manager")
//!     .reads(ReadRoutes::safe())
//!     .deadline(Duration::from_secs(10))
//!     .reqwest(|client| client.user_agent("docs/1.0").no_proxy())?;
//!
//! let response = api.get("/artifacts?limit=3").with(|request| request.bearer_auth("token")).send().await?;
//! assert_eq!(response.text().await?, "3 artifacts");
//! # Ok(())
//! # }
//! ```
//!
//! A stream that is replaced, read by whoever reads reqwest's responses and knows nothing of it:
//!
//! ```
//! use reqwest::{Request, Response};
//! use tower::{Service, ServiceExt};
//! use tower_recovery::Failure;
//! use tower_recovery_http::{
//!     reqwest::{ReqwestStreams, into_response},
//!     sse::SseRules,
//!     streams::WholeBody,
//! };
//!
//! // `Recovery::http(…).reqwest_streams(policy, |client| client)` makes such a route.
//! fn chat(model: ReqwestStreams) -> impl Service<Request, Response = Response, Error = Failure> {
//!     let whole = model.sse(SseRules::openai_chat()).whole(1 << 20);
//!     whole.map_response(WholeBody::of_whole).map_response(into_response)
//! }
//! # let _ = chat;
//! ```

use ::reqwest as library;
use tower::BoxError;
use tower_recovery::{Resolved, StreamPolicy};
use tower_service::Service;

use crate::{HttpRecovery, Origin};

// The versions of reqwest have the same API in all that is needed, and no type in common: one set of files is compiled for each of them.
#[path = "adapter/mod.rs"]
mod adapter;

pub use self::adapter::{
    InvalidTarget, ReqwestBuildError, ReqwestCall, ReqwestHandle, ReqwestRules, ReqwestStack, ReqwestStreams,
    Streaming, StreamingReqwestStack, Unary, into_response,
};

impl<Resolver, Target> HttpRecovery<Resolver, Target>
where
    Resolver: Service<Target, Response = Resolved<Origin>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    Target: Clone + Send + 'static,
{
    /// The stack over reqwest 0.13, for unary calls. The closure configures the client of each handle. See [`tower_recovery_http::reqwest`](crate::reqwest).
    ///
    /// Where reqwest was built with a feature for decompression, an answer without a length is whole when it ends without an error: a reset with `NO_ERROR` in its
    /// middle cannot be seen there.
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, or that only the closure can make; a closure from which reqwest can build no client.
    pub fn reqwest(
        self,
        configure: impl Fn(library::ClientBuilder) -> library::ClientBuilder + Send + Sync + 'static,
    ) -> Result<ReqwestStack, ReqwestBuildError> {
        adapter::unary(self, configure)
    }

    /// The same, for answers whose bodies outlive the call. A body that breaks, or whose end is none, evicts the handle that is to blame, and gives its reader
    /// reqwest's error with a [`Failure`](tower_recovery::Failure) in its chain ([`Failure::recover`](tower_recovery::Failure::recover) finds it). See
    /// [`streamed`](crate::streamed); where reqwest was built with a feature for decompression, how a body without a length ends cannot be seen, and any end
    /// without an error is believed.
    ///
    /// # Errors
    ///
    /// As of [`reqwest`](Self::reqwest).
    pub fn reqwest_streaming(
        self,
        configure: impl Fn(library::ClientBuilder) -> library::ClientBuilder + Send + Sync + 'static,
    ) -> Result<StreamingReqwestStack, ReqwestBuildError> {
        adapter::streaming(self, configure)
    }

    /// The front door of a stream route over reqwest, to be replaced as this policy says: see [`streams`](HttpRecovery::streams), whose requests are reqwest's own
    /// here. [`into_response`] makes a response of reqwest's of what was admitted.
    ///
    /// # Errors
    ///
    /// As of [`reqwest`](Self::reqwest).
    pub fn reqwest_streams(
        self,
        policy: StreamPolicy,
        configure: impl Fn(library::ClientBuilder) -> library::ClientBuilder + Send + Sync + 'static,
    ) -> Result<ReqwestStreams, ReqwestBuildError> {
        adapter::streams(self, policy, configure)
    }
}
