//! reqwest 0.13.

use ::reqwest as library;
use tower_recovery_http::reqwest as adapter;

use self::{
    adapter::{ReqwestBuildError, ReqwestStack, StreamingReqwestStack},
    library::ClientBuilder,
};
use super::{Door, bounded, door, server, wire};

#[path = "suite/mod.rs"]
mod suite;

/// The client stays away from the proxies of whoever runs the tests.
fn unary(
    door: Door,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<ReqwestStack, ReqwestBuildError> {
    door.reqwest(move |client| configure(client.no_proxy()))
}

fn streaming(
    door: Door,
    configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
) -> Result<StreamingReqwestStack, ReqwestBuildError> {
    door.reqwest_streaming(move |client| configure(client.no_proxy()))
}

/// It is built without any decompression.
const SEES_ENDS: bool = true;
