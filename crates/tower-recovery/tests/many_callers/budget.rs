//! A thousand reads that fail at once, under a budget of a fifth.

// What tokio lets one task do in one go is less than a thousand calls.
use tokio::{task::unconstrained, time::advance};
use tokio_test::task::{self, Spawn};
use tower::{Service, ServiceExt};
use tower_recovery::Failure;
use tower_recovery_test::ScriptedResolver;

use super::{Fault, Instance, PAUSE, READ, WRITE, budget, cache_of, resolved, stack};

const CALLERS: usize = 1_000;

#[tokio::test(start_paused = true)]
async fn b56_a_thousand_reads_that_fail_at_once_are_repeated_two_hundred_times_and_a_waiter_that_leaves_gives_its_permit_back()
 {
    // Writes are answered and fill the budget; reads may have executed, and indict nobody.
    let instance = Instance::new(|method| if method == WRITE { Ok("done") } else { Err(Fault::Lost) });
    let resolver = ScriptedResolver::new([resolved("a", &instance)]);
    let budget = budget(20, 0);
    let stack = stack(cache_of(&resolver).build(), &budget);

    // The balance: a thousand answered calls pay in a fifth of a permit each, the last eight of them when their clone goes.
    let mut clone = stack.clone();
    for _ in 0..CALLERS {
        clone.ready().await.unwrap().call(WRITE).await.unwrap();
    }
    drop(clone);
    assert_eq!((budget.permits(), instance.calls()), (200, CALLERS));

    let mut calls: Vec<_> = (0..CALLERS).map(|_| task::spawn(unconstrained(stack.clone().oneshot(READ)))).collect();
    calls.retain_mut(waits);
    assert_eq!((calls.len(), budget.permits()), (200, 0), "each that waits has paid, before its pause");
    assert_eq!(instance.calls(), 2 * CALLERS, "nothing is repeated before its pause is over");

    drop(calls.pop());
    assert_eq!(budget.permits(), 1, "a waiter that leaves gives its permit back");
    let mut late = task::spawn(unconstrained(stack.clone().oneshot(READ)));
    assert!(waits(&mut late), "whoever comes next has it");
    assert_eq!(budget.permits(), 0);
    drop(late);

    advance(PAUSE).await;
    calls.retain_mut(waits);
    // One permit is there again, and one of those whose repeat failed has bought it for another repeat.
    assert_eq!((calls.len(), budget.permits()), (1, 0));
    advance(2 * PAUSE).await;
    calls.retain_mut(waits);
    assert!(calls.is_empty(), "nobody hangs");
    let (first, repeats) = (CALLERS + 1, 200);
    assert_eq!(instance.calls(), CALLERS + first + repeats, "the permits, and not one more");
    assert_eq!((budget.permits(), resolver.resolves()), (0, 1));
}

/// Polls a call: it waits, or it has failed within the bounds of its budget.
fn waits(call: &mut Spawn<impl Future<Output = Result<&'static str, Failure>>>) -> bool {
    match call.poll() {
        std::task::Poll::Pending => true,
        std::task::Poll::Ready(outcome) => {
            let failure = outcome.expect_err("no read is answered");
            assert!(failure.is_exhausted(), "{failure:?}");
            assert_eq!(failure.find(), Some(&Fault::Lost));
            false
        }
    }
}
