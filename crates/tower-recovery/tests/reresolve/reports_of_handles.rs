//! Failures that others reported in public, each by its number: handles that moved, died or were evicted.

use std::time::Duration;

use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{Service, ServiceExt, service_fn};
use tower_recovery::{Delivery, HandleCache, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::support::{
    Call, Fault, Reply, Tracked, attempts, backend, cache, done, fails, millis, poll_woken, recovering, reresolving,
    resolved, resolver,
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

#[tokio::test(start_paused = true)]
async fn b26_without_the_rule_the_refusal_is_an_answer() {
    let old = backend([fails(Fault::NoSuchFile)]);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    let failure = recovering(cache(&resolver), attempts(3)).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::Answered), 1));
    assert_eq!((old.calls(), resolver.resolves()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn b27_an_application_error_evicts_nothing_and_eight_transport_failures_evict_once() {
    let gate = Gate::new();
    let old = Tracked::new(backend([fails(Fault::NoSuchFile), fails(Fault::Lost).behind(&gate)]));
    let new = Tracked::new(backend([done("b")]));
    let copies = [old.copies(), new.copies()];
    // The registry makes each handle once and keeps no copy of it.
    let mut handles = vec![("b", new), ("a", old)].into_iter();
    let next = move || handles.next_back().map(|(identity, handle)| Resolved::new(identity, handle)).unwrap();
    let resolver = ScriptedResolver::new([Step::answer_with(next)]);
    let cache = cache(&resolver);
    let mut stack = reresolving(cache.clone());

    let failure = stack.ready().await.unwrap().call(Call::write()).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    assert_eq!((resolver.resolves(), cache.generation().unwrap().get()), (1, 1));

    let mut calls: Vec<_> = (0..8).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    gate.open();
    for call in &mut calls {
        assert_ready_err!(poll_woken(call));
    }
    let mut last = calls.pop();
    drop(calls);
    for _ in 0..8 {
        assert_eq!(stack.ready().await.unwrap().call(Call::write()).await.unwrap(), Reply::Done("b"));
    }
    assert_eq!((resolver.resolves(), cache.generation().unwrap().get()), (2, 2));
    assert!(copies[0].strong_count() > 0, "the future of the last call has not been dropped yet");
    last.take();
    assert_eq!(copies[0].strong_count(), 0, "the old handle goes with its last call");
    assert!(copies[1].strong_count() > 0);
}

#[tokio::test(start_paused = true)]
async fn b28_the_late_clean_up_of_an_old_handle_leaves_the_new_one_alone() {
    let gate = Gate::new();
    let late = || fails(Fault::Lost).behind(&gate);
    let old = backend([late(), late(), late(), fails(Fault::Lost)]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old), ("b", new.clone())]);
    let cache = cache(&resolver);
    let stack = reresolving(cache.clone());
    let mut clients: Vec<_> = (0..3).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for client in &mut clients {
        assert_pending!(client.poll());
    }
    stack.clone().oneshot(Call::write()).await.unwrap_err();
    stack.clone().oneshot(Call::write()).await.unwrap();
    assert_eq!(cache.generation().unwrap().get(), 2);

    gate.open();
    for client in &mut clients {
        assert_ready_err!(poll_woken(client));
        assert_eq!(cache.generation().unwrap().get(), 2);
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((resolver.resolves(), new.calls()), (2, 2));
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

#[tokio::test(start_paused = true)]
async fn b43_clones_see_a_new_handle_without_failing_first() {
    let old = backend([done("a"), done("a"), fails(Fault::ConnectionRefused)]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let mut one = recovering(cache(&resolver), attempts(3));
    one.ready().await.unwrap().call(Call::write()).await.unwrap();
    let mut other = one.clone();
    other.ready().await.unwrap().call(Call::write()).await.unwrap();

    let first = tokio::spawn(async move { one.ready().await?.call(Call::write()).await });
    assert_eq!(first.await.unwrap().unwrap(), Reply::Done("b"));
    let second = tokio::spawn(async move { other.ready().await?.call(Call::write()).await });
    assert_eq!(second.await.unwrap().unwrap(), Reply::Done("b"));
    assert_eq!((resolver.resolves(), old.calls(), new.calls()), (2, 3, 2));
}

#[tokio::test(start_paused = true)]
async fn b44_a_slow_call_ends_on_the_handle_that_another_call_evicted() {
    let scripted = backend([done("slow").delayed(millis(2000)), fails(Fault::Lost).delayed(millis(500))]);
    let old = Tracked::new(scripted.clone());
    let copies = old.copies();
    let mut once = vec![old];
    let resolver = ScriptedResolver::new([
        Step::answer_with(move || Resolved::new("a", once.pop().unwrap())),
        resolved("b", &Tracked::new(backend([done("b")]))),
    ]);
    let cache = cache(&resolver);
    let stack = reresolving(cache.clone());
    let mut slow = task::spawn(stack.clone().oneshot(Call::write().with_key(1)));
    let mut failing = task::spawn(stack.clone().oneshot(Call::write().with_key(2)));
    assert_pending!(slow.poll());
    assert_pending!(failing.poll());
    advance(millis(500)).await;
    assert_ready_err!(poll_woken(&mut failing));
    drop(failing);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert!(copies.strong_count() > 0, "the slow call uses it still");

    advance(millis(1500)).await;
    assert_eq!(assert_ready_ok!(poll_woken(&mut slow)), Reply::Done("slow"));
    drop(slow);
    assert_eq!(copies.strong_count(), 0, "closed after its last user");
    assert_eq!(scripted.requests().iter().filter(|call| call.key == 1).count(), 1);
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
