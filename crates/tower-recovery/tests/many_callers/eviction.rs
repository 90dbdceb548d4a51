//! Ten thousand callers whose instance dies under them.

use tokio::task::JoinSet;
use tower::ServiceExt;
use tower_recovery::{Delivery, Failure};
use tower_recovery_test::{Gate, ScriptedResolver};

use super::{FLOOR, Fault, Instance, READ, Stack, WRITE, budget, cache_of, resolved, stack};

const CALLERS: usize = 10_000;

/// Half of them read and half of them write.
fn callers(stack: &Stack) -> JoinSet<Result<&'static str, Failure>> {
    let call = |caller: usize| stack.clone().oneshot(if caller.is_multiple_of(2) { READ } else { WRITE });
    (0..CALLERS).map(call).collect()
}

/// The reads may have executed, the writes were not sent.
fn dies(method: &'static str) -> Result<&'static str, Fault> {
    Err(if method == READ { Fault::Died } else { Fault::Absent })
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_callers_go_on_to_another_instance_by_one_resolve_and_for_no_permit() {
    let gate = Gate::new();
    let (old, new) = (Instance::new(dies).behind(&gate), Instance::new(|_| Ok("new")));
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).delayed(FLOOR)]);
    let budget = budget(1, 10);
    let calls = callers(&stack(cache_of(&resolver).build(), &budget));

    while old.calls() < CALLERS {
        tokio::task::yield_now().await;
    }
    gate.open();
    let answers = calls.join_all().await;
    assert_eq!(answers.len(), CALLERS);
    assert!(answers.into_iter().all(|answer| answer.unwrap() == "new"));
    assert_eq!((old.calls(), new.calls()), (CALLERS, CALLERS));
    assert_eq!(resolver.resolves(), 2, "the first one, and one for the eviction");
    assert_eq!(budget.permits(), 10 + CALLERS as u64 / 100, "the reserve, and one in a hundred answered calls");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_callers_whose_instance_is_the_same_again_repeat_within_the_budget() {
    const PERMITS: usize = 50;
    let gate = Gate::new();
    let (old, new) = (Instance::new(dies).behind(&gate), Instance::new(|_| Ok("new")));
    let resolver = ScriptedResolver::new([resolved("a", &old), resolved("a", &new)]);
    let budget = budget(1, PERMITS as u32);
    let calls = callers(&stack(cache_of(&resolver).build(), &budget));

    while old.calls() < CALLERS {
        tokio::task::yield_now().await;
    }
    gate.open();
    let (answered, failed): (Vec<_>, Vec<_>) = calls.join_all().await.into_iter().partition(Result::is_ok);
    // What the fifty pay in is half a permit.
    assert_eq!((answered.len(), failed.len()), (PERMITS, CALLERS - PERMITS));
    assert_eq!((new.calls(), budget.permits(), resolver.resolves()), (PERMITS, 0, 2));
    for failure in failed {
        let failure = failure.unwrap_err();
        let delivery = match failure.find::<Fault>().unwrap() {
            Fault::Absent => Delivery::NeverSent,
            Fault::Died | Fault::Lost => Delivery::MaybeSent,
        };
        assert_eq!((failure.delivery(), failure.attempts(), failure.is_exhausted()), (Some(delivery), 1, true));
    }
}
