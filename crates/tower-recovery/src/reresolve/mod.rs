//! [`ReresolveLayer`]: attaches the current handle to each request, and evicts it when a failure indicts it.
//!
//! A handle that was resolved once and kept goes stale in silence: the name moves to another instance, and every call through
//! the old handle runs into its timeout while all else looks healthy. This layer owns the handle instead of the
//! application, and replaces it when a failure says so.
//!
//! **When**: wherever a registry, DNS or a control plane says who serves a name. **Not** for balancing: a handle may itself be a balanced set.
//! **Where**: below [`ReadOnlyRetryLayer`](crate::ReadOnlyRetryLayer), above [`ClassifyLayer`](crate::ClassifyLayer). Its inner service
//! takes [`Addressed`](crate::Addressed) requests; the leaf is [`Dispatch`](crate::Dispatch).
//!
//! # Examples
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//! use tower::{ServiceBuilder, service_fn};
//! use tower_recovery::{AttemptTimeoutLayer, Dispatch, HandleCache, ReresolveLayer, Resolved};
//!
//! let resolver = service_fn(|name: String| async move {
//!     let client = service_fn(|request: u32| async move { Ok::<_, Infallible>(request + 1) });
//!     Ok::<_, Infallible>(Resolved::new(name, client))
//! });
//! let cache = HandleCache::builder(resolver, String::from("counter"))
//!     .named("counter")
//!     .resolve_timeout(Duration::from_secs(2))
//!     .build();
//! let stack = ServiceBuilder::new()
//!     .layer(ReresolveLayer::new(cache))
//!     .layer(AttemptTimeoutLayer::new(Duration::from_secs(30)))
//!     .service(Dispatch);
//! # let _ = stack.clone();
//! # async fn call(mut stack: impl tower::Service<u32, Response = u32, Error = tower_recovery::Failure>) {
//! # use tower::ServiceExt;
//! assert_eq!(stack.ready().await.unwrap().call(1).await.unwrap(), 2);
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(call(stack));
//! ```
//!
//! # Readiness
//!
//! That of the inner service, never of the handle: resolving and connecting happen in the call, and their failures come out of the
//! call, because a `poll_ready` that fails would kill a `tower::buffer` above for good. A call that has to wait for a handle keeps
//! the inner service that was readied for it, and whatever slot that holds.
//!
//! # Cancel safety
//!
//! A call dropped while it waits for a handle leaves the resolve to those who wait beside it. One dropped later drops its attempt, and evicts nothing.
//!
//! # Errors
//!
//! Always a [`Failure`](crate::Failure), with the lease of the handle where one was attached. A resolve that fails is `NeverSent` by
//! [`ResolveError`](crate::ResolveError) and hands the request back. An answer that only says that the handle is stale evicts it and goes out as the answer it is.
//!
//! # Concurrent calls
//!
//! Callers that find no handle share one resolve, see [`HandleCache`](crate::HandleCache). A call that is under way on a
//! handle that another one evicts goes on to its own end.
//!
//! # Panics
//!
//! A panicking resolver is an error of those who wait for it. A panicking handle takes down its own call alone.

mod future;
mod layer;
mod service;

pub use self::{future::ReresolveFuture, layer::ReresolveLayer, service::Reresolve};
