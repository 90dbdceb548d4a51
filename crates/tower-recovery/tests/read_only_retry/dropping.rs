//! A call dropped in each of its states starts nothing more and takes nobody down with it.

use tokio::time::{Duration, advance};
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{Service, ServiceExt};
use tower_recovery_test::{Gate, ReadyStep, ScriptedReadiness, ScriptedResolver, Step};

use super::{
    retrying,
    support::{
        Call, Fault, Reply, attempts, backend, cache, done, fails, millis, poll_woken, recovering, resolved, resolver,
    },
};

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn before_it_is_polled() {
    let handle = backend([done("a")]);
    let resolver = resolver([("a", handle.clone())]);
    let mut stack = recovering(cache(&resolver), attempts(3));
    drop(stack.ready().await.unwrap().call(Call::write()));
    advance(LONG).await;
    assert_eq!((resolver.resolves(), handle.calls()), (0, 0));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
}

#[tokio::test(start_paused = true)]
async fn in_its_first_attempt() {
    let backend = backend([Step::hang()]);
    let mut call = task::spawn(retrying(backend.clone(), attempts(3)).oneshot(Call::read()));
    assert_pending!(call.poll());
    drop(call);
    advance(LONG).await;
    assert_eq!((backend.calls(), backend.in_flight(), backend.dropped()), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn while_the_handle_is_renewed() {
    let old = backend([fails(Fault::ConnectionRefused)]);
    let resolver = ScriptedResolver::new([resolved("a", &old), Step::hang()]);
    let mut call = task::spawn(recovering(cache(&resolver), attempts(3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    assert_eq!(resolver.in_flight(), 1);
    drop(call);
    advance(LONG).await;
    assert_eq!((resolver.resolves(), resolver.in_flight(), resolver.dropped(), old.calls()), (2, 0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn while_the_handle_is_renewed_with_others_who_go_on() {
    let gate = Gate::new();
    let old = backend([fails(Fault::ConnectionRefused)]);
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &backend([done("b")])).behind(&gate)]);
    let stack = recovering(cache(&resolver), attempts(3));
    let mut dropped = task::spawn(stack.clone().oneshot(Call::write()));
    let mut other = task::spawn(stack.oneshot(Call::write()));
    assert_pending!(dropped.poll());
    assert_pending!(other.poll());
    drop(dropped);
    gate.open();
    assert_eq!(assert_ready_ok!(poll_woken(&mut other)), Reply::Done("b"));
    assert_eq!((resolver.resolves(), resolver.dropped()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn while_it_pauses() {
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let mut call = task::spawn(retrying(backend.clone(), attempts(3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(millis(10)).await;
    drop(call);
    advance(LONG).await;
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_a_further_instance_is_readied() {
    let backend = backend([fails(Fault::NotWritten), done("a")]);
    let gate = Gate::new();
    let slow = ScriptedReadiness::new(backend.clone(), [ReadyStep::Ready, ReadyStep::Until(gate.clone())]);
    let mut call = task::spawn(retrying(slow, attempts(3)).oneshot(Call::write()));
    assert_pending!(call.poll());
    advance(millis(100)).await;
    assert_pending!(poll_woken(&mut call));
    drop(call);
    gate.open();
    advance(LONG).await;
    assert_eq!(backend.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn in_a_further_attempt() {
    let backend = backend([fails(Fault::NotWritten), Step::hang()]);
    let mut call = task::spawn(retrying(backend.clone(), attempts(3)).oneshot(Call::read()));
    assert_pending!(call.poll());
    advance(millis(100)).await;
    assert_pending!(poll_woken(&mut call));
    drop(call);
    advance(LONG).await;
    assert_eq!((backend.calls(), backend.in_flight(), backend.dropped()), (2, 0, 1));
}
