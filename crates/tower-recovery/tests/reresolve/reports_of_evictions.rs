//! Failures that others reported in public, each by its number: handles that many callers share when one is evicted.

use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{Service, ServiceExt};
use tower_recovery::{Delivery, Resolved};
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::support::{
    Call, Fault, Reply, Tracked, attempts, backend, cache, done, fails, millis, poll_woken, recovering, reresolving,
    resolved, resolver,
};

#[tokio::test(start_paused = true)]
async fn b27_an_application_error_evicts_nothing_and_eight_transport_failures_evict_once() {
    let [answer, loss] = [Gate::new(), Gate::new()];
    let old = Tracked::new(backend([fails(Fault::NoSuchFile).behind(&answer), fails(Fault::Lost).behind(&loss)]));
    let new = Tracked::new(backend([done("b")]));
    let copies = [old.copies(), new.copies()];
    // The registry makes each handle once and keeps no copy of it.
    let mut handles = vec![("b", new), ("a", old)].into_iter();
    let next = move || handles.next_back().map(|(identity, handle)| Resolved::new(identity, handle)).unwrap();
    let resolver = ScriptedResolver::new([Step::answer_with(next)]);
    let cache = cache(&resolver);
    let mut stack = reresolving(cache.clone());

    let mut calls: Vec<_> = (0..9).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        assert_pending!(call.poll());
    }
    answer.open();
    let failure = assert_ready_err!(poll_woken(&mut calls.remove(0)));
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    assert_eq!((resolver.resolves(), cache.generation().unwrap().get()), (1, 1));
    assert!(calls.iter().all(|call| !call.is_woken()), "an answer to one is nobody else's business");

    loss.open();
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

/// The clean-up of a failed attempt waits for one thing, the next handle. Two of three clients are suspended there while the third goes on.
#[tokio::test(start_paused = true)]
async fn b28_clients_that_are_suspended_in_their_clean_up_take_the_new_handle_as_they_find_it() {
    let [failure, look_up] = [Gate::new(), Gate::new()];
    let (old, new) = (backend([fails(Fault::ConnectionRefused).behind(&failure)]), backend([done("b")]));
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).behind(&look_up)]);
    let cache = cache(&resolver);
    let stack = recovering(cache.clone(), attempts(3));
    let mut clients: Vec<_> = (0..3).map(|_| task::spawn(stack.clone().oneshot(Call::write()))).collect();
    for client in &mut clients {
        assert_pending!(client.poll());
    }
    failure.open();
    for client in &mut clients {
        assert_pending!(poll_woken(client));
    }
    assert_eq!((old.calls(), old.in_flight(), cache.generation()), (3, 0, None), "each has failed and waits");

    look_up.open();
    let mut first = clients.remove(0);
    assert_eq!(assert_ready_ok!(poll_woken(&mut first)), Reply::Done("b"));
    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    for client in &mut clients {
        assert_eq!(assert_ready_ok!(poll_woken(client)), Reply::Done("b"));
        assert_eq!(cache.generation().unwrap().get(), 2);
    }
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("b"));
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (3, 5, 2));
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
async fn b43_clones_that_fail_at_the_same_time_share_one_resolve() {
    let gate = Gate::new();
    let old = backend([done("a"), done("a"), fails(Fault::ConnectionRefused).behind(&gate)]);
    let new = backend([done("b")]);
    let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
    let cache = cache(&resolver);
    let one = recovering(cache.clone(), attempts(3));
    let mut clones = [one.clone(), one];
    for clone in &mut clones {
        clone.ready().await.unwrap().call(Call::write()).await.unwrap();
    }
    let calls = clones.map(|mut clone| tokio::spawn(async move { clone.ready().await?.call(Call::write()).await }));
    old.wait_until_in_flight(2).await;
    gate.open();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Reply::Done("b"));
    }
    assert_eq!((resolver.resolves(), cache.generation().unwrap().get()), (2, 2));
    assert_eq!((old.calls(), new.calls()), (4, 2));
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
