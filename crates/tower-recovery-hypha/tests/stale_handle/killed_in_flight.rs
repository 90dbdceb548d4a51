//! The manager is killed while calls wait for its answers, and another one is there.

use std::time::Duration;

use tokio::time::Instant;
use tower_recovery::Delivery;
use tower_recovery_hypha::{Call, CallError, HyphaClientBuilder};
use tower_recovery_test::hypha::Behaviour;

use crate::support::{
    CALLERS, Watched, World, cause, commits, create, of, outcome, outcomes, reads, start, under, within,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_in_flight_are_repeated_in_silence_and_writes_are_not() {
    within(async {
        let Some(world) = World::start("killed").await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("killed-books")).await.unwrap();
        outcome(&stack, &watched, of("put_file", "killed-books").arg("a")).await.unwrap();
        // One half has counted its view when it dies, the other has not; and so with the writes.
        for (method, behaviour) in [
            ("read", Behaviour::hang_after()),
            ("get_file", Behaviour::hang_before()),
            ("commit", Behaviour::hang_after()),
            ("edit", Behaviour::hang_before()),
        ] {
            old.behave(method, behaviour).await.unwrap();
        }
        let new = world.manager("new").await;

        let half = CALLERS / 2;
        let file = |at| Call::new("get_file").arg("killed-books").arg("a").keyword("request_id", format!("file-{at}"));
        let read = start(&stack, &watched, [reads("killed-books", half), (0..half).map(file).collect()].concat());
        let edit = |at| Call::new("edit").arg("killed-books").keyword("request_id", format!("edit-{at}"));
        let write = start(&stack, &watched, [commits("killed-books", 10), (0..10).map(edit).collect()].concat());
        for (method, times) in [("read", half), ("get_file", half), ("commit", 10), ("edit", 10)] {
            world.wait_until_received(method, times).await;
        }
        old.kill();
        let killed = Instant::now();
        for outcome in outcomes(read).await {
            outcome.unwrap();
        }
        println!("killed in flight: {CALLERS} reads answered {:?} later", killed.elapsed());
        for outcome in outcomes(write).await {
            let failure = outcome.unwrap_err();
            assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{failure:?}");
            assert!(matches!(cause(&failure), CallError::PeerDisconnected { .. }), "{failure:?}");
        }

        let (was, is) = (world.identity(&old), world.identity(&new));
        assert_eq!(watched.evicted(), [was.as_str()]);
        assert_eq!(watched.resolved(), [was, is]);
        assert_eq!((watched.repeats("commit"), watched.repeats("edit")), (vec![], vec![]));
        let executed = world.executed();
        for at in 0..10 {
            assert_eq!(under(&executed, &format!("commit-{at}")).len(), 1);
            assert_eq!(under(&executed, &format!("edit-{at}")).len(), 0);
        }
        for at in 0..half {
            let views = |id: String| under(&executed, &id).iter().map(|one| one.view).collect::<Vec<_>>();
            assert_eq!(views(format!("read-{at}")), [true, false]);
            assert_eq!(views(format!("file-{at}")), [false], "it may have counted, so the repeat must not");
        }
        assert_eq!(world.views("killed-books"), half);
    })
    .await;
}

#[tokio::test]
async fn a_read_from_another_workspace_hears_of_the_death_by_its_silence() {
    within(async {
        let short = |builder: HyphaClientBuilder| builder.answer_timeout(Duration::from_secs(2));
        let Some(world) = World::start_abroad("abroad", short).await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        old.behave("read", Behaviour::hang_after()).await.unwrap();
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("abroad-books")).await.unwrap();
        let new = world.manager("new").await;
        let read = start(&stack, &watched, reads("abroad-books", 1));
        world.wait_until_received("read", 1).await;
        let killed = Instant::now();
        old.kill();
        outcomes(read).await.remove(0).unwrap();
        println!("killed in another workspace: a read answered {:?} later", killed.elapsed());
        assert_eq!(watched.resolved(), [world.identity(&old), world.identity(&new)]);
    })
    .await;
}
