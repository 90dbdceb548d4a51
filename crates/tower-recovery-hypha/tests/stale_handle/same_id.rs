//! The manager registers again under the client id that it had.

use crate::support::{CALLERS, Watched, World, commits, create, outcome, outcomes, reads, start, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_of_a_manager_that_was_killed_and_started_again_go_on() {
    within(async {
        let Some(world) = World::start("same").await else { return };
        let (first, watched) = (world.manager("one").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("same-books")).await.unwrap();
        let kept = world.kept_handle().await;

        world.kill(&first).await;
        let second = world.manager("one").await;
        let calls = [reads("same-books", CALLERS), commits("same-books", 5)].concat();
        for outcome in outcomes(start(&stack, &watched, calls)).await {
            outcome.unwrap();
        }
        kept.call_method(create("other")).await.unwrap();
        assert_eq!(watched.evicted(), Vec::<String>::new());
        assert_eq!(watched.resolved(), [world.identity(&first)]);
        assert_eq!(watched.failed_attempts("read"), []);
        assert_eq!(world.views("same-books"), CALLERS);
        assert_eq!(world.executed().iter().filter(|one| one.pid == second.pid()).count(), CALLERS + 5 + 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_left_and_came_back_costs_one_eviction_if_calls_met_the_gap() {
    within(async {
        let Some(world) = World::start("gap").await else { return };
        let (manager, watched) = (world.manager("one").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("gap-books")).await.unwrap();

        manager.disconnect().await.unwrap();
        world.wait_until_gone(&manager).await;
        let met = outcome(&stack, &watched, create("gap-other")).await;
        met.unwrap_err();
        manager.connect().await.unwrap();
        manager.register_artifact_manager().await.unwrap();
        for outcome in outcomes(start(&stack, &watched, reads("gap-books", CALLERS))).await {
            outcome.unwrap();
        }
        let identity = world.identity(&manager);
        assert_eq!(watched.evicted(), [identity.as_str()]);
        assert_eq!(watched.resolved(), [identity.as_str(), identity.as_str()]);
        assert_eq!(world.views("gap-books"), CALLERS);
    })
    .await;
}
