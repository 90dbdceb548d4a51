//! reqwest 0.12.

use ::reqwest_0_12 as library;
use tower_recovery_http::reqwest_0_12 as adapter;

use self::{
    adapter::{ReqwestBuildError, ReqwestStack, StreamingReqwestStack},
    library::ClientBuilder,
};
use super::{Door, bounded, door, server, wire};

#[path = "suite/mod.rs"]
#[cfg_attr(feature = "reqwest", expect(clippy::duplicate_mod, reason = "compiled once for each version"))]
mod suite;

/// The client stays away from the proxies of whoever runs the tests.
fn unary(
    door: Door,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<ReqwestStack, ReqwestBuildError> {
    door.reqwest_0_12(move |client| configure(client.no_proxy()))
}

fn streaming(
    door: Door,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<StreamingReqwestStack, ReqwestBuildError> {
    door.reqwest_0_12_streaming(move |client| configure(client.no_proxy()))
}

/// It is built with `gzip`, which hides how a body without a length ends.
const SEES_ENDS: bool = false;
