//! The manager has gone, and nobody has taken its place yet.

use std::time::Duration;

use tower_recovery::{Delivery, Failure, ResolveError};
use tower_recovery_hypha::{CallError, ResolveServiceError};

use crate::support::{CALLERS, Watched, World, cause, create, of, outcome, outcomes, reads, start, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_caller_hears_that_nobody_is_registered_and_the_next_one_asks_again() {
    within(async {
        let Some(world) = World::start("nobody").await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        // One attempt a call, so that what each of them hears is what the one resolve said. The pause between resolves is long, so that all of them are there when it ends.
        let pause = Duration::from_secs(1);
        let stack = world.recovery(&watched).attempts(1).resolve_floor(pause, pause).build().unwrap();
        outcome(&stack, &watched, create("nobody-books")).await.unwrap();
        world.kill(&old).await;

        let refused = outcome(&stack, &watched, of("read", "nobody-books")).await.unwrap_err();
        assert!(matches!(cause(&refused), CallError::PeerNotConnected { .. }), "{refused:?}");
        assert_eq!(watched.evicted(), [world.identity(&old)]);
        assert_eq!(watched.failed_resolves().len(), 0);
        let alone = outcome(&stack, &watched, of("read", "nobody-books")).await.unwrap_err();
        not_found(&alone);

        for round in 1..=2 {
            for outcome in outcomes(start(&stack, &watched, reads("nobody-books", CALLERS))).await {
                let failure = outcome.unwrap_err();
                assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
                assert_eq!(not_found(&failure), "ws-nobody/*:artifact-manager@*");
            }
            assert_eq!(
                watched.failed_resolves().len(),
                1 + round,
                "one for all, and one more for those who come later"
            );
        }

        let new = world.manager("new").await;
        for outcome in outcomes(start(&stack, &watched, reads("nobody-books", CALLERS))).await {
            outcome.unwrap();
        }
        assert_eq!(watched.resolved(), [world.identity(&old), world.identity(&new)]);
        assert_eq!(world.views("nobody-books"), CALLERS);
    })
    .await;
}

#[tokio::test]
async fn a_write_that_finds_nobody_was_not_executed_and_is_once_there_is_somebody() {
    within(async {
        let Some(world) = World::start("patient").await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("patient-books")).await.unwrap();
        world.kill(&old).await;

        // Three attempts, of which the first met the dead one and the others nobody.
        let failure = outcome(&stack, &watched, of("commit", "patient-books")).await.unwrap_err();
        assert_eq!(failure.attempts(), 3);
        assert!(failure.delivery().is_some_and(Delivery::is_send_side), "{failure:?}");
        not_found(&failure);
        let _new = world.manager("new").await;
        outcome(&stack, &watched, of("commit", "patient-books")).await.unwrap();
        assert_eq!(world.executed().iter().filter(|one| one.method == "commit").count(), 1);
    })
    .await;
}

/// The name that the registry does not know.
fn not_found(failure: &Failure) -> String {
    failure.find::<ResolveError>().expect("it is of the resolve");
    match failure.find() {
        Some(ResolveServiceError::Call(CallError::ServiceNotFound { id })) => id.clone(),
        other => panic!("{other:?} in {failure:?}"),
    }
}
