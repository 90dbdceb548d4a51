//! The manager is killed, and another one registers under another client id: the incident.

use tower_recovery::Delivery;
use tower_recovery_hypha::{Call, CallError, Value};

use crate::support::{CALLERS, Watched, World, commits, create, outcome, outcomes, reads, start, under, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_a_dead_manager_fail_never_and_cost_one_resolve() {
    within(async {
        let Some(world) = World::start("dead").await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("dead-books")).await.unwrap();
        let kept = world.kept_handle().await;
        let silent_read = || Call::new("read").arg("dead-books").keyword("silent", true);
        kept.call_method(silent_read()).await.unwrap();

        world.kill(&old).await;
        let new = world.manager("new").await;

        let began = tokio::time::Instant::now();
        let calls = [reads("dead-books", CALLERS), commits("dead-books", 20)].concat();
        for outcome in outcomes(start(&stack, &watched, calls.clone())).await {
            outcome.unwrap();
        }
        println!("a dead manager: {} calls in {:?}", calls.len(), began.elapsed());

        let (was, is) = (world.identity(&old), world.identity(&new));
        assert_eq!(watched.evicted(), [was.as_str()]);
        assert_eq!(watched.resolved(), [was, is], "one resolve at first, and one for the eviction");
        assert_eq!(watched.lines_with("Re-resolved the artifact manager service proxy."), 1);
        let refused = watched.failed_attempts("read");
        assert!(!refused.is_empty() && refused.iter().all(|delivery| *delivery == Delivery::Refused), "{refused:?}");
        assert!(watched.repeats("read").iter().chain(&watched.repeats("commit")).all(|silenced| !silenced));

        // Everything once, and nothing of it by the dead one.
        let executed = world.executed_by(&new);
        assert_eq!(executed.len(), calls.len());
        for call in &calls {
            let id = call.keywords()[0].1.as_str().unwrap();
            assert_eq!(under(&executed, id).len(), 1, "{id}");
        }
        assert_eq!(world.views("dead-books"), CALLERS);
        let read = outcome(&stack, &watched, silent_read()).await.unwrap();
        assert_eq!(read["versions"].as_array().map(Vec::len), Some(1 + 20));

        // What the worker of the incident had does not come back by itself.
        for _ in 0..20 {
            let error = kept.call_method(silent_read()).await.unwrap_err();
            assert!(matches!(error, CallError::PeerNotConnected { .. }), "{error:?}");
        }
        assert_eq!(watched.resolved().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_commit_alone_finds_the_new_manager_too() {
    within(async {
        let Some(world) = World::start("alone").await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("alone-books")).await.unwrap();

        world.kill(&old).await;
        let new = world.manager("new").await;
        let commit = Call::new("commit").arg("alone-books").keyword("request_id", "commit");
        let committed = outcome(&stack, &watched, commit).await.unwrap();
        assert_eq!(committed["versions"], Value::Array(vec!["v0".into(), "v1".into()]));
        assert_eq!(watched.failed_attempts("commit"), [Delivery::Refused]);
        assert_eq!(world.executed_by(&new).len(), 1);
    })
    .await;
}
