//! A stack whose handle is a stack with retries of its own: the two do not multiply.

use std::sync::Arc;

use tower::{BoxError, ServiceExt, util::BoxCloneSyncService};
use tower_recovery::{Delivery, Failure, HandleCache, ShareBudget};
use tower_recovery_test::{ScriptedResolver, Step};

use super::{Fault, Instance, READ, Stack, WRITE, budget, cache_of, resolved, stack};

/// A client's own error around what failed.
#[derive(Debug, thiserror::Error)]
#[error("the client gave up")]
struct ClientError(#[source] Failure);

fn inner(instance: &Instance, budget: &Arc<ShareBudget>) -> Stack {
    let resolver = ScriptedResolver::new([resolved("backend", instance)]);
    stack(cache_of(&resolver).build(), budget)
}

/// The outer stack, whose one handle is this client; as it is, and with an error of its own around what failed.
fn outers(client: &Stack, budget: &Arc<ShareBudget>) -> [Stack; 2] {
    let plain = ScriptedResolver::new([Step::resolved("client", client.clone())]);
    let wrapped = client.clone().map_err(|failure| BoxError::from(ClientError(failure)));
    let wrapped = ScriptedResolver::new([Step::resolved("client", BoxCloneSyncService::new(wrapped))]);
    [stack(HandleCache::new(plain, "client"), budget), stack(HandleCache::new(wrapped, "client"), budget)]
}

#[tokio::test(start_paused = true)]
async fn b58_nested_retries_reach_the_backend_three_times_for_a_read_and_once_for_a_write() {
    for fault in [|_| Err(Fault::Lost), |_| Err(Fault::Died)] {
        for method in [READ, WRITE] {
            for outer in 0..2 {
                let backend = Instance::new(fault);
                let budget = budget(1, 100);
                let [plain, wrapped] = outers(&inner(&backend, &budget), &budget);
                let outer = if outer == 0 { plain } else { wrapped };

                let failure = outer.oneshot(method).await.unwrap_err();
                assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
                assert!(failure.find::<Fault>().is_some());
                let attempts = if method == READ { 3 } else { 1 };
                assert_eq!(backend.calls(), attempts, "{method}");
                assert_eq!(budget.permits(), 100 - (attempts as u64 - 1), "one permit a repeat, of one owner alone");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn b58_nested_retries_reach_the_backend_three_times_for_what_never_executes() {
    for method in [READ, WRITE] {
        for outer in 0..2 {
            let backend = Instance::new(|_| Err(Fault::Absent));
            let budget = budget(1, 100);
            let [plain, wrapped] = outers(&inner(&backend, &budget), &budget);
            let outer = if outer == 0 { plain } else { wrapped };

            let failure = outer.oneshot(method).await.unwrap_err();
            assert_eq!((failure.delivery(), failure.is_exhausted()), (Some(Delivery::NeverSent), true));
            assert_eq!(backend.calls(), 3, "{method}");
        }
    }
}
