//! The adapter, for the version that the module above calls `library`.

mod build;
mod call;
mod ends;
mod handle;
mod response;
mod rules;
mod stack;
mod target;

use super::library;

pub(super) use self::build::{streaming, streams, unary};
pub use self::{
    build::ReqwestBuildError,
    call::ReqwestCall,
    handle::ReqwestHandle,
    response::into_response,
    rules::ReqwestRules,
    stack::{ReqwestStack, ReqwestStreams, Streaming, StreamingReqwestStack, Unary},
    target::InvalidTarget,
};
