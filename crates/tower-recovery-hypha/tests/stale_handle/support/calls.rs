//! Many calls at a time, through clones of one stack.

use tokio::task::JoinHandle;
use tower::ServiceExt;
use tower_recovery::Failure;
use tower_recovery_hypha::{Call, CallError, HyphaStack, Value};
use tower_recovery_test::hypha::Execution;
use tracing::instrument::WithSubscriber;

use super::Watched;

type Outcome = Result<Value, Failure>;

/// Reads of an artifact, each under an id of its own.
pub(crate) fn reads(artifact: &str, number: usize) -> Vec<Call> {
    numbered("read", artifact, number)
}

/// Commits of an artifact, each under an id of its own.
pub(crate) fn commits(artifact: &str, number: usize) -> Vec<Call> {
    numbered("commit", artifact, number)
}

/// An artifact.
pub(crate) fn create(artifact: &str) -> Call {
    of("create", artifact)
}

/// A call under an id, which is its method's name.
pub(crate) fn of(method: &str, artifact: &str) -> Call {
    Call::new(method).arg(artifact).keyword("request_id", method)
}

fn numbered(method: &str, artifact: &str, number: usize) -> Vec<Call> {
    let call = |at| Call::new(method).arg(artifact).keyword("request_id", format!("{method}-{at}"));
    (0..number).map(call).collect()
}

/// Starts calls, each in a task of its own on a clone of its own. Their log lines go to whoever watches.
pub(crate) fn start(stack: &HyphaStack, watched: &Watched, calls: Vec<Call>) -> Vec<JoinHandle<Outcome>> {
    let spawn = |call| tokio::spawn(stack.clone().oneshot(call).with_subscriber(watched.subscriber()));
    calls.into_iter().map(spawn).collect()
}

/// What they come to.
pub(crate) async fn outcomes(started: Vec<JoinHandle<Outcome>>) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(started.len());
    for call in started {
        outcomes.push(call.await.unwrap());
    }
    outcomes
}

/// What one call comes to.
pub(crate) async fn outcome(stack: &HyphaStack, watched: &Watched, call: Call) -> Outcome {
    outcomes(start(stack, watched, vec![call])).await.remove(0)
}

/// The error of a call in what failed.
pub(crate) fn cause(failure: &Failure) -> &CallError {
    failure.find().unwrap_or_else(|| panic!("{failure:?} is no error of a call"))
}

/// What was executed under this id.
pub(crate) fn under<'ledger>(ledger: &'ledger [Execution], id: &str) -> Vec<&'ledger Execution> {
    ledger.iter().filter(|one| one.request_id.as_deref() == Some(id)).collect()
}
