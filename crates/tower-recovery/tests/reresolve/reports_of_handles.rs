//! Failures that others reported in public, each by its number: handles that moved, died or were evicted.

use std::{error::Error, time::Duration};

use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{
    Classify, ClassifyLayer, Dispatch, HandleCache, ReadOnlyRetryLayer, ReresolveLayer, Resolved, Verdict,
};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::support::{
    Call, Fault, Protocol, Reply, attempts, backend, cache, done, fails, millis, poll_woken, recovering, resolved,
    resolver, rules,
};

#[tokio::test(start_paused = true)]
async fn b25_a_name_that_moved_is_found_at_its_new_address_by_the_same_call() {
    let (old, new) = (backend([fails(Fault::ConnectionRefused)]), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let reply = recovering(cache(&resolver), attempts(3)).oneshot(Call::write()).await.unwrap();

    assert_eq!(reply, Reply::Done("b"));
    assert_eq!((resolver.resolves(), old.calls(), new.calls()), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn b26_a_demoted_primary_that_refuses_writes_is_replaced() {
    let (old, new) = (backend([done("a"), fails(Fault::ReadOnly)]), backend([done("b")]));
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let stack = recovering(cache(&resolver), attempts(3));

    assert_eq!(stack.clone().oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!(resolver.resolves(), 1, "a read that the old primary answered evicts nothing");
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (2, 1, 2));
}

/// The protocol with another word on what a demoted primary says.
#[derive(Clone)]
struct Unruled(Verdict);

impl Classify<Reply> for Unruled {
    fn response(&self, reply: &Reply) -> Option<Verdict> {
        Protocol.response(reply)
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        let is_demoted = error.downcast_ref() == Some(&Fault::ReadOnly);
        if is_demoted { self.0 } else { Classify::<Reply>::error(&Protocol, error) }
    }
}

#[tokio::test(start_paused = true)]
async fn b26_without_the_rule_the_refusal_goes_out_and_the_primary_stays() {
    for unruled in [Verdict::answered(), Verdict::unrecognised()] {
        let old = backend([fails(Fault::ReadOnly), fails(Fault::ReadOnly), done("a")]);
        let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
        let stack = ServiceBuilder::new()
            .layer(ReadOnlyRetryLayer::new(rules()).timing(attempts(3)))
            .layer(ReresolveLayer::new(cache(&resolver)))
            .layer(ClassifyLayer::new(Unruled(unruled)))
            .service(Dispatch);
        for calls in 1..=2 {
            let failure = stack.clone().oneshot(Call::write()).await.unwrap_err();
            assert_eq!((failure.verdict(), failure.attempts(), failure.find()), (unruled, 1, Some(&Fault::ReadOnly)));
            assert_eq!((old.calls(), resolver.resolves()), (calls, 1));
        }
        assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn b36_a_zombie_gets_no_call_while_the_name_is_resolved() {
    let zombie = backend([Step::answer(Reply::NotHere)]);
    let new = backend([done("b")]);
    let resolver = ScriptedResolver::new([resolved("a", &zombie), resolved("b", &new).delayed(millis(100))]);
    let stack = recovering(cache(&resolver), attempts(3));
    let mut calls = vec![task::spawn(stack.clone().oneshot(Call::write()))];
    assert_pending!(calls[0].poll());
    for _ in 0..4 {
        calls.push(task::spawn(stack.clone().oneshot(Call::write())));
        assert_pending!(calls.last_mut().unwrap().poll());
    }

    advance(millis(99)).await;
    assert_eq!((zombie.calls(), new.calls()), (1, 0));
    advance(millis(1)).await;
    for call in &mut calls {
        assert_eq!(assert_ready_ok!(poll_woken(call)), Reply::Done("b"));
    }
    assert_eq!((zombie.calls(), new.calls(), resolver.resolves()), (1, 5, 2));
}

#[tokio::test(start_paused = true)]
async fn b42_a_healthy_handle_is_kept_whatever_the_registry_says_now() {
    let old = backend([done("a")]);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    let stack = recovering(cache(&resolver), attempts(3));
    for _ in 0..100 {
        assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
        advance(Duration::from_secs(60)).await;
    }
    assert_eq!((resolver.resolves(), old.calls()), (1, 100));
}

/// Who wants the change without a failure asks for it: the next call goes to the new instance, and a slow one ends on the old.
#[tokio::test(start_paused = true)]
async fn b42_a_refresh_moves_the_next_call_and_ends_none() {
    let old = backend([done("a"), done("slow").delayed(millis(2000))]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old.clone()), ("a", backend([])), ("b", new.clone())]);
    let cache = cache(&resolver);
    let mut stack = recovering(cache.clone(), attempts(3));
    assert_eq!(stack.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("a"));
    let mut slow = task::spawn(stack.clone().oneshot(Call::write()));
    assert_pending!(slow.poll());

    cache.refresh().await.unwrap();
    assert_eq!(cache.generation().unwrap().get(), 1, "the registry named the same instance");
    cache.refresh().await.unwrap();
    assert_eq!(stack.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("b"));
    advance(millis(2000)).await;
    assert_eq!(assert_ready_ok!(poll_woken(&mut slow)), Reply::Done("slow"));
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (2, 1, 3));
    assert_eq!(cache.generation().unwrap().get(), 2);
}

#[tokio::test(start_paused = true)]
async fn b48_the_second_attempt_goes_to_the_second_instance() {
    // A factory: the first instance fails every call, however often it is asked.
    let made = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let factory = {
        let made = std::sync::Arc::clone(&made);
        service_fn(move |_: &str| {
            let mut made = made.lock().unwrap();
            let instance = backend([if made.is_empty() { fails(Fault::ConnectionRefused) } else { done("ok") }]);
            made.push(instance.clone());
            let identity = format!("instance-{}", made.len());
            async move { Ok::<_, Fault>(Resolved::new(identity, instance)) }
        })
    };
    let stack = recovering(HandleCache::new(factory, "service"), attempts(3));
    stack.clone().oneshot(Call::write()).await.unwrap();
    assert_eq!(made.lock().unwrap().iter().map(|instance| instance.calls()).collect::<Vec<_>>(), [1, 1]);

    let calls = (0..8).map(|_| tokio::spawn(stack.clone().oneshot(Call::write()))).collect::<Vec<_>>();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(made.lock().unwrap().iter().map(|instance| instance.calls()).collect::<Vec<_>>(), [1, 9]);
}

#[tokio::test(start_paused = true)]
async fn b48_concurrent_failures_make_one_new_instance() {
    let gate = Gate::new();
    let old = backend([fails(Fault::ConnectionRefused).behind(&gate)]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let stack = recovering(cache(&resolver), attempts(3));
    let calls = (0..8).map(|_| tokio::spawn(stack.clone().oneshot(Call::write()))).collect::<Vec<_>>();
    old.wait_until_in_flight(8).await;
    gate.open();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Reply::Done("b"));
    }
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (8, 8, 2));
}
