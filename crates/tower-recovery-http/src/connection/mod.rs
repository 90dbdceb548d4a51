//! [`ConnectionHandle`]: one instance over one connection, for whoever wants requests handed back.
//!
//! A pool hides which connection a request took, and sends it once. On a connection of its own a handle gets back what hyper did not
//! write: the request itself, whatever its method and its body, and it is repeated without a copy.
//!
//! **When**: for request bodies that cannot be copied, for HTTP/2 to one instance, where one connection carries all calls. **Not** for many calls at once
//! over HTTP/1: they take turns. **Where**: [`ConnectLayer`] around the resolver; what it resolves to is the handle.
//!
//! # Examples
//!
//! ```
//! use std::convert::Infallible;
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_recovery::{AttemptTimeoutLayer, ClassifyLayer, Dispatch, HandleCache, ReadOnlyRetryLayer, ReresolveLayer, Resolved};
//! use tower_recovery_http::{CollectLayer, ConnectLayer, HttpClassifier, HttpRules, Origin, ReadRoutes, Transport};
//! # use std::time::Duration;
//! # use tower_recovery_test::FaultyServer;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let server = FaultyServer::builder().start().await?;
//! # let origin: Origin = server.origin().parse()?;
//! let registry = service_fn(move |_name: &'static str| {
//!     let found = Resolved::from(origin.clone());
//!     async move { Ok::<_, Infallible>(found) }
//! });
//! let handles = ServiceBuilder::new().layer(ConnectLayer::new(Transport::new())).service(registry);
//!
//! let stack = ServiceBuilder::new()
//!     .layer(ReadOnlyRetryLayer::new(HttpRules::<Full<Bytes>>::new(ReadRoutes::safe())))
//!     .layer(ReresolveLayer::new(HandleCache::new(handles, "artifact-manager")))
//!     .layer(ClassifyLayer::new(HttpClassifier::new()))
//!     .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
//!     .layer(CollectLayer::new(1 << 20))
//!     .service(Dispatch);
//!
//! let response = stack.oneshot(Request::post("/artifacts").body(Full::default())?).await?;
//! assert_eq!(response.status(), 200);
//! # Ok(())
//! # }
//! ```

mod connect;
mod handle;
mod rewrite;
mod turns;

pub use self::{
    connect::{Connect, ConnectLayer},
    handle::{ConnectionHandle, Unanswered},
};
