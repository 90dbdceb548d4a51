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

pub(super) use self::build::{streaming, unary};
pub use self::{
    build::ReqwestBuildError,
    call::ReqwestCall,
    handle::ReqwestHandle,
    rules::ReqwestRules,
    stack::{ReqwestStack, Streaming, StreamingReqwestStack, Unary},
    target::InvalidTarget,
};
