//! What is never given up: whatever would not be repeated for sure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use tower::{ServiceBuilder, ServiceExt};
use tower_recovery::{
    Access, ClassifyLayer, Dispatch, ReadOnlyRetryLayer, RequestRules, ReresolveLayer, SendSideOnly, StreamMode,
    StreamPolicy,
};
use tower_recovery_test::{ScriptedResolver, Step};

use super::{
    SURELY_DUE, SUSPECT_AFTER, answering_after, stack,
    support::{
        Call, Idempotent, Protocol, Reply, ample, attempts, backend, done, recovering, reresolving, resolver, rules,
        rules_without_copies,
    },
    suspecting,
};

const LATE: Duration = Duration::from_secs(5);

/// The answer of the instance that was called first comes out, however late, and nobody asks the registry, which names another.
macro_rules! it_waits_on {
    ($call:expr, $stack:expr) => {{
        let (old, new) = (answering_after("a", LATE), backend([done("b")]));
        let resolver = resolver([("a", old.clone()), ("b", new.clone())]);
        let begun = tokio::time::Instant::now();
        let stack = $stack(suspecting(&resolver).build());
        assert_eq!(stack.oneshot($call).await.unwrap(), Reply::Done("a"));
        assert!(begun.elapsed() >= LATE);
        assert_eq!((resolver.resolves(), old.calls(), old.dropped(), new.calls()), (1, 1, 0, 0));
    }};
}

macro_rules! under {
    ($rules:expr) => {
        |cache| {
            ServiceBuilder::new()
                .layer(ReadOnlyRetryLayer::new($rules).timing(attempts(3)).budget(ample()))
                .layer(ReresolveLayer::new(cache))
                .layer(ClassifyLayer::new(Protocol))
                .service(Dispatch)
        }
    };
}

#[tokio::test(start_paused = true)]
async fn a_write_waits_on() {
    it_waits_on!(Call::write(), |cache| recovering(cache, attempts(3)));
}

#[tokio::test(start_paused = true)]
async fn many_writes_finish_with_their_own_late_results_and_each_is_seen_once() {
    let old = answering_after("a", LATE);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    let stack = stack(&resolver);
    let calls: Vec<_> = (0..50).map(|key| tokio::spawn(stack.clone().oneshot(Call::write().with_key(key)))).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Reply::Done("a"));
    }
    let mut keys: Vec<_> = old.requests().iter().map(|call| call.key).collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..50));
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_write_waits_on() {
    it_waits_on!(Call::write(), under!(Idempotent));
}

#[tokio::test(start_paused = true)]
async fn a_read_that_cannot_be_copied_waits_on() {
    it_waits_on!(Call::read(), under!(rules_without_copies()));
}

#[tokio::test(start_paused = true)]
async fn a_read_with_one_attempt_waits_on() {
    it_waits_on!(Call::read(), |cache| recovering(cache, attempts(1)));
}

#[tokio::test(start_paused = true)]
async fn a_read_without_a_retry_layer_above_waits_on() {
    it_waits_on!(Call::read(), reresolving);
}

#[tokio::test(start_paused = true)]
async fn a_stream_route_whose_streams_are_replaced_waits_on_and_another_does_not() {
    let send_side = |mode| SendSideOnly::under(StreamPolicy::builder(mode).build().unwrap(), rules());
    it_waits_on!(Call::read(), under!(send_side(StreamMode::RetryOnHealthyProbe)));
    it_waits_on!(Call::read(), under!(SendSideOnly::new(rules())));

    let resolver = resolver([("a", super::frozen()), ("b", backend([done("b")]))]);
    let stack = under!(send_side(StreamMode::Preserve))(suspecting(&resolver).build());
    assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_does_not_suspect_leaves_a_read_waiting() {
    let old = answering_after("a", LATE);
    let resolver = resolver([("a", old.clone()), ("b", backend([done("b")]))]);
    let reply = recovering(super::support::cache(&resolver), attempts(3)).oneshot(Call::read()).await.unwrap();
    assert_eq!((reply, resolver.resolves(), super::tasks()), (Reply::Done("a"), 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_write_keeps_no_tick_going() {
    let resolver = resolver([("a", super::frozen())]);
    let mut call = tokio_test::task::spawn(stack(&resolver).oneshot(Call::write()));
    super::poll_pending(&mut call);
    super::pass(SUSPECT_AFTER * 3).await;
    assert_eq!((super::tasks(), resolver.resolves(), call.is_woken()), (0, 1, false));
}

/// Copies of a read share a buffer with the request that was sent, which has lost its beginning by then.
#[derive(Clone)]
struct Incomplete(Arc<AtomicBool>);

impl RequestRules<Call> for Incomplete {
    type Method = &'static str;

    fn method(&self, call: &Call) -> &'static str {
        call.method
    }

    fn access(&self, _: &Call, _: &&'static str) -> Access {
        Access::Read
    }

    fn copy(&self, call: &Call) -> Option<Call> {
        Some(call.clone())
    }

    fn is_whole(&self, _: &Call) -> bool {
        self.0.load(Relaxed)
    }

    fn silence(&self, _: &mut Call) {}
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_copy_is_not_whole_any_more_waits_on() {
    // Lost before it is due, and during the look-up.
    for (loses, resolves) in [(SUSPECT_AFTER / 2, 1), (SURELY_DUE, 2)] {
        let is_whole = Arc::new(AtomicBool::new(true));
        let (old, new) = (answering_after("a", LATE), backend([done("b")]));
        let look_up = Step::resolved("b", new.clone()).delayed(SUSPECT_AFTER);
        let resolver = ScriptedResolver::new([Step::resolved("a", old.clone()), look_up]);
        let stack = under!(Incomplete(Arc::clone(&is_whole)))(suspecting(&resolver).build());
        let call = tokio::spawn(stack.oneshot(Call::read()));
        super::pass(loses).await;
        is_whole.store(false, Relaxed);
        assert_eq!(call.await.unwrap().unwrap(), Reply::Done("a"));
        assert_eq!((resolver.resolves(), old.dropped(), new.calls()), (resolves, 0, 0));
    }
}
