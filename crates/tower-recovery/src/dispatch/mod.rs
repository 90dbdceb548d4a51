//! [`Dispatch`], the leaf of every stack: it readies and calls the handle that travels with the request.
//!
//! # Examples
//!
//! ```
//! use std::convert::Infallible;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_recovery::{Dispatch, HandleCache, ReresolveLayer, Resolved};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let resolver = service_fn(|()| async {
//!     let echo = service_fn(|text: &'static str| async move { Ok::<_, Infallible>(text) });
//!     Ok::<_, Infallible>(Resolved::new("echo-1", echo))
//! });
//! let stack = ServiceBuilder::new()
//!     .layer(ReresolveLayer::new(HandleCache::new(resolver, ())))
//!     .service(Dispatch);
//! assert_eq!(stack.oneshot("hello").await.unwrap(), "hello");
//! # }
//! ```

mod future;
mod not_ready;
mod service;

pub use self::{
    future::DispatchFuture,
    not_ready::NotReady,
    service::{Addressed, Dispatch},
};
