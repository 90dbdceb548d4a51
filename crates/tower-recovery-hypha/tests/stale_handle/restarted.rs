//! The server is killed while calls are in flight, and started again with an empty registry. The manager comes back by what `hypha-rpc` does.

use std::time::Duration;

use tokio::time::Instant;
use tower_recovery::{Delivery, LinearBackoff, ShareBudget};
use tower_recovery_hypha::{Call, CallError};
use tower_recovery_test::hypha::Behaviour;

use crate::support::{Watched, World, cause, create, of, outcome, outcomes, start, under, within};

/// How many of each kind are in flight.
const EACH: usize = 5;

/// Calls under ids of their own.
fn numbered(method: &str) -> Vec<Call> {
    let call = |at| Call::new(method).arg("restarted-books").keyword("request_id", format!("{method}-{at}"));
    let file = |call: Call| if method == "get_file" { call.arg("a") } else { call };
    (0..EACH).map(call).map(file).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_what_is_in_flight_when_the_server_dies_reads_are_repeated_in_silence_and_writes_are_not() {
    within(async {
        let Some(world) = World::start_alone("restarted").await else { return };
        let (manager, watched) = (world.manager("manager").await, Watched::default());
        // For as long as the manager takes to come back, which is more than what a stack has in reserve by default.
        let backoff = LinearBackoff::new(Duration::from_millis(250), Duration::from_secs(1));
        let budget = ShareBudget::builder().ceiling(1000).reserve(1000).build().unwrap();
        let stack = world.recovery(&watched).attempts(60).backoff(backoff).budget(budget).build().unwrap();
        outcome(&stack, &watched, create("restarted-books")).await.unwrap();
        outcome(&stack, &watched, of("put_file", "restarted-books").arg("a")).await.unwrap();

        // One half has done its work when the server dies, the other has not.
        for (method, behaviour) in [
            ("read", Behaviour::hang_after()),
            ("get_file", Behaviour::hang_before()),
            ("commit", Behaviour::hang_after()),
            ("edit", Behaviour::hang_before()),
        ] {
            manager.behave(method, behaviour.times(EACH.try_into().unwrap())).await.unwrap();
        }
        let reading = start(&stack, &watched, [numbered("read"), numbered("get_file")].concat());
        let writing = start(&stack, &watched, [numbered("commit"), numbered("edit")].concat());
        for method in ["read", "get_file", "commit", "edit"] {
            world.wait_until_received(method, EACH).await;
        }
        // With `create`, and the file.
        world.wait_until_executed_by(&manager, 2 + 2 * EACH).await;

        world.server().kill();
        let killed = Instant::now();
        for outcome in outcomes(writing).await {
            let failure = outcome.unwrap_err();
            assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{failure:?}");
            assert_eq!(failure.attempts(), 1);
            assert!(matches!(cause(&failure), CallError::ConnectionLost { .. }), "{failure:?}");
        }
        assert!(reading.iter().all(|read| !read.is_finished()), "they wait for a server");
        world.server().restart().await;
        for outcome in outcomes(reading).await {
            outcome.unwrap();
        }
        println!("restarted: {} reads answered {:?} after the server was killed", 2 * EACH, killed.elapsed());

        // The handle serves again, also what was given up.
        for outcome in outcomes(start(&stack, &watched, vec![of("commit", "restarted-books")])).await {
            outcome.unwrap();
        }
        outcome(&stack, &watched, of("read", "restarted-books")).await.unwrap();
        assert!(watched.resolved().iter().all(|identity| *identity == world.identity(&manager)));

        for method in ["commit", "edit"] {
            assert_eq!(watched.repeats(method), Vec::<bool>::new(), "{method}");
            assert_eq!(watched.failed_attempts(method), [Delivery::MaybeSent; EACH], "{method}");
        }
        let executed = world.executed();
        let views = |id: String| under(&executed, &id).iter().map(|one| one.view).collect::<Vec<_>>();
        for at in 0..EACH {
            assert_eq!(under(&executed, &format!("commit-{at}")).len(), 1, "a commit is never repeated");
            assert_eq!(under(&executed, &format!("edit-{at}")).len(), 0, "an edit is never repeated");
            assert_eq!(views(format!("read-{at}")), [true, false]);
            assert_eq!(views(format!("get_file-{at}")), [false], "it may have counted, so the repeat must not");
        }
        assert_eq!(world.views("restarted-books"), EACH + 1);
    })
    .await;
}
