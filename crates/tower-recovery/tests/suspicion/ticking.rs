//! The one task that ticks: who starts it, and when it ends.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;
use tower_recovery_test::{ScriptedResolver, Step};

use super::{
    SURELY_DUE, SUSPECT_AFTER, TICK, answering_after, frozen, pass, poll_pending, stack,
    support::{Call, Reply, attempts, backend, done, recovering, resolved, resolver},
    suspecting, tasks,
};

/// Two turns of the ring: what is idle has ended by then.
const TURNS: Duration = Duration::from_millis(2 * 12 * 100 + 1);

#[tokio::test(start_paused = true)]
async fn no_task_ticks_before_a_read_waits() {
    let resolver = resolver([("a", backend([done("a")]))]);
    let stack = stack(&resolver);
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
    assert_eq!(tasks(), 0, "an answer that is there at once waits for nothing");
}

#[tokio::test(start_paused = true)]
async fn the_tick_ends_when_nobody_has_come_for_a_turn_and_starts_again_with_the_next_read() {
    let old = answering_after("a", TICK);
    let resolver = ScriptedResolver::new([resolved("a", &old)]);
    let stack = stack(&resolver);
    for _ in 0..3 {
        assert_eq!(stack.clone().oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
        assert_eq!(tasks(), 1, "it waits for the next one for a while");
        pass(TURNS).await;
        assert_eq!(tasks(), 0);
        pass(SUSPECT_AFTER * 100).await;
    }
    assert_eq!(resolver.resolves(), 1);
    // After it has ended and started again it is as good as new.
    old.push(done("a").delayed(SUSPECT_AFTER * 100));
    resolver.push(resolved("b", &backend([done("b")])));
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn the_tick_ends_under_a_read_that_was_suspected_in_vain() {
    let resolver = resolver([("a", frozen())]);
    let call = tokio::spawn(stack(&resolver).oneshot(Call::read()));
    pass(SURELY_DUE).await;
    assert_eq!((resolver.resolves(), tasks()), (2, 2));
    pass(TURNS).await;
    assert_eq!(tasks(), 1, "the call alone");
    call.abort();
}

#[tokio::test(start_paused = true)]
async fn one_task_ticks_for_all_reads_and_all_clones() {
    let resolver = resolver([("a", frozen())]);
    let stack = stack(&resolver);
    let calls: Vec<_> = (0..100).map(|_| tokio::spawn(stack.clone().oneshot(Call::read()))).collect();
    for _ in 0..30 {
        pass(TICK).await;
        assert!(tasks() <= 101, "{}", tasks());
    }
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn reads_that_come_at_any_moment_of_its_end_are_suspected_all_the_same() {
    for pause in 0..=2 * 12 * 2 {
        let old = backend([done("a").delayed(Duration::from_millis(1)), super::freezes()]);
        let resolver = resolver([("a", old), ("b", backend([done("b")]))]);
        let stack = stack(&resolver);
        stack.clone().oneshot(Call::read()).await.unwrap();
        pass(TICK * pause / 2).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
        assert!((SUSPECT_AFTER..=SURELY_DUE).contains(&begun.elapsed()), "{pause}: {:?}", begun.elapsed());
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn the_runtime_that_ticks_may_be_shut_down_and_the_next_one_ticks_on() {
    let [first, second] = [runtime(), runtime()];
    let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
    let stack = recovering(suspecting(&resolver).build(), attempts(3));

    let abandoned = first.spawn(stack.clone().oneshot(Call::read()));
    first.block_on(pass(SUSPECT_AFTER));
    assert_eq!(first.metrics().num_alive_tasks(), 2, "the call and the tick");
    // This one begins to wait while the first runtime ticks, and nobody ticks for it when that is gone.
    let waiting = second.spawn(stack.clone().oneshot(Call::read()));
    second.block_on(pass(SUSPECT_AFTER * 5));
    assert_eq!((second.metrics().num_alive_tasks(), resolver.resolves()), (1, 1));
    drop(first);
    assert!(abandoned.is_finished());

    let reply = second.block_on(stack.oneshot(Call::read())).unwrap();
    assert_eq!(reply, Reply::Done("b"));
    assert_eq!(second.block_on(waiting).unwrap().unwrap(), Reply::Done("b"));
    assert_eq!(resolver.resolves(), 2);
    second.block_on(pass(TURNS));
    assert_eq!(second.metrics().num_alive_tasks(), 0);
}

#[test]
fn a_read_outside_of_any_runtime_is_not_suspected_and_does_not_panic() {
    let runtime = runtime();
    let resolver = resolver([("a", backend([Step::hang(), super::freezes()]))]);
    let cache = suspecting(&resolver).build();
    runtime.block_on(cache.acquire()).unwrap();
    let stack = recovering(cache, attempts(3));
    let mut call = tokio_test::task::spawn(stack.clone().oneshot(Call::read()));
    poll_pending(&mut call);
    runtime.block_on(pass(SUSPECT_AFTER * 5));
    assert!(!call.is_woken());

    // Nothing is left in the way of a read that has a runtime.
    resolver.push(resolved("b", &backend([done("b")])));
    assert_eq!(runtime.block_on(stack.oneshot(Call::read())).unwrap(), Reply::Done("b"));
}

/// On the real clock, and on threads: whoever comes while the task ends finds it, or starts another.
#[test]
fn reads_on_two_threads_lose_no_wake_up_however_often_the_tick_ends() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let rounds = async {
        for round in 0..150 {
            let resolver = resolver([("a", frozen()), ("b", backend([done("b")]))]);
            let wait = Duration::from_millis(1);
            let cache = suspecting(&resolver).suspect_after(wait).unwrap().build();
            let stack = recovering(cache, attempts(3));
            // Short reads that start the tick, and leave it to end by itself.
            let short = tokio::time::timeout(wait / 2, stack.clone().oneshot(Call::read()));
            let _left = short.await;
            tokio::time::sleep(wait * (round % 8)).await;
            let reads = [(); 4].map(|()| tokio::spawn(stack.clone().oneshot(Call::read())));
            for read in reads {
                assert_eq!(read.await.unwrap().unwrap(), Reply::Done("b"));
            }
        }
    };
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), rounds).await }).unwrap();
}
