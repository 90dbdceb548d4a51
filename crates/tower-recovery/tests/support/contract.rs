//! What every layer owes to the service below it, whatever the layer does.

use std::fmt;

use futures_util::future::{FutureExt, join};
use tokio_test::{assert_pending, task};
use tower::{Service, ServiceExt};
use tower_recovery_test::ReadinessCounts;

use super::{Call, Reply};

/// Over a `ReadinessProbe` with these counts, and a backend that always answers.
pub(crate) async fn it_calls_only_what_was_readied<Stack>(mut stack: Stack, counts: &ReadinessCounts)
where
    Stack: Service<Call, Response = Reply, Error: fmt::Debug> + Clone,
{
    stack.ready().await.unwrap().call(Call::write()).await.unwrap();

    // The clone of a ready instance has to be readied, and the original is ready still.
    stack.ready().await.unwrap();
    let mut clone = stack.clone();
    clone.ready().await.unwrap().call(Call::write()).await.unwrap();
    stack.call(Call::write()).await.unwrap();

    let first = stack.ready().await.unwrap().call(Call::write());
    let second = stack.ready().await.unwrap().call(Call::write());
    let (first, second) = join(first, second).await;
    first.and(second).unwrap();

    assert_eq!((counts.called_unready(), counts.called(), counts.ready_now()), (0, 5, 0));
}

/// Over a `ConcurrencyLimit` of one, and a backend that always answers.
pub(crate) async fn a_clone_starts_unready_and_a_dropped_instance_frees_its_slot<Stack>(mut stack: Stack)
where
    Stack: Service<Call, Response = Reply, Error: fmt::Debug> + Clone,
{
    stack.ready().await.unwrap();
    let mut clone = stack.clone();
    let mut waiting = task::spawn(());
    assert!(waiting.enter(|context, _| clone.poll_ready(context)).is_pending(), "the original has the only slot");

    drop(stack);
    assert!(waiting.is_woken(), "a wake-up was lost");
    assert!(waiting.enter(|context, _| clone.poll_ready(context)).is_ready());
    clone.call(Call::write()).await.unwrap();
}

/// Over a `ConcurrencyLimit` of one, and a backend that never answers.
pub(crate) fn a_dropped_call_frees_its_slot<Stack>(mut stack: Stack)
where
    Stack: Service<Call, Response = Reply, Error: fmt::Debug> + Clone,
{
    for polls in 0..3 {
        let mut clone = stack.clone();
        stack.ready().now_or_never().expect("the slot is free").unwrap();
        let mut call = task::spawn(stack.call(Call::write()));
        for _ in 0..polls {
            assert_pending!(call.poll());
        }
        assert!(clone.ready().now_or_never().is_none(), "the call has the only slot");
        drop(call);
        assert!(clone.ready().now_or_never().is_some(), "dropped after {polls} polls, it frees its slot");
    }
}
