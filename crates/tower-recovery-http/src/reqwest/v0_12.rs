//! reqwest 0.12 as the client, from 0.12.23 on: [`HttpRecovery::reqwest_0_12`] and what it is made of.
//!
//! All is as with 0.13, whose module documentation (feature `reqwest`) tells it; in short: a handle is an origin and a `reqwest::Client` of its own; reqwest's own retries and
//! redirects are off, whatever the closure asks for; behind a proxy, the system's included, say [`behind(Intermediary::Present)`](crate::Intermediary).

use ::reqwest_0_12 as library;
use tower::BoxError;
use tower_recovery::{Resolved, StreamPolicy};
use tower_service::Service;

use crate::{HttpRecovery, Origin};

// See the module of 0.13.
#[path = "adapter/mod.rs"]
#[cfg_attr(feature = "reqwest", expect(clippy::duplicate_mod, reason = "compiled once for each version"))]
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
    /// The stack over reqwest 0.12, for unary calls. The closure configures the client of each handle. See
    /// [`tower_recovery_http::reqwest_0_12`](crate::reqwest_0_12).
    ///
    /// Where reqwest was built with a feature for decompression, an answer without a length is whole when it ends without an error: a reset with `NO_ERROR` in its
    /// middle cannot be seen there.
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, or that only the closure can make; a closure from which reqwest can build no client.
    pub fn reqwest_0_12(
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
    /// As of [`reqwest_0_12`](Self::reqwest_0_12).
    pub fn reqwest_0_12_streaming(
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
    /// As of [`reqwest_0_12`](Self::reqwest_0_12).
    pub fn reqwest_0_12_streams(
        self,
        policy: StreamPolicy,
        configure: impl Fn(library::ClientBuilder) -> library::ClientBuilder + Send + Sync + 'static,
    ) -> Result<ReqwestStreams, ReqwestBuildError> {
        adapter::streams(self, policy, configure)
    }
}
