//! What may cross threads.

use tower::{Service, util::BoxCloneSyncService};
use tower_recovery::Failure;

use super::{
    adapter::{
        InvalidTarget, ReqwestBuildError, ReqwestCall, ReqwestHandle, ReqwestRules, ReqwestStack, StreamingReqwestStack,
    },
    library::{Request, Response},
};

fn shareable<Value: Clone + Send + Sync + 'static>() {}
fn sendable<Value: Send + 'static>(_: Value) {}
fn error<Value: std::error::Error + Send + Sync + 'static>() {}
fn service<Stack: Service<Request, Response = Response, Error = Failure, Future: Send>>() {}

#[test]
fn stacks_are_services_of_reqwests_own_types_that_cross_threads() {
    shareable::<ReqwestStack>();
    shareable::<StreamingReqwestStack>();
    shareable::<ReqwestHandle>();
    shareable::<ReqwestRules>();
    service::<ReqwestStack>();
    service::<StreamingReqwestStack>();
    error::<ReqwestBuildError>();
    error::<InvalidTarget>();
    let _ = |stack: ReqwestStack| {
        sendable(stack.get("/").send());
        BoxCloneSyncService::new(stack)
    };
    let _ = |call: ReqwestCall| sendable(call);
}
