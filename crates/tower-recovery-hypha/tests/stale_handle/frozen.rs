//! The manager freezes, and another one registers beside it: the registry names both.
//!
//! `TOWER_RECOVERY_HYPHA_FROZEN_SECONDS=150` has them run with the times that are usual in use.

use std::{env, time::Duration};

use tokio::time::{Instant, sleep_until, timeout};
use tower_recovery::Delivery;
use tower_recovery_hypha::{CallError, HyphaClientBuilder, HyphaRecovery};

use crate::support::{CALLERS, Watched, World, cause, commits, create, outcome, outcomes, reads, start, under};

const COMMITS: usize = 10;

/// How long things take.
struct Times {
    frozen: Duration,
    answer_timeout: Duration,
    suspect_after: Duration,
    ping_timeout: Duration,
}

impl Times {
    fn new() -> Self {
        let seconds = Duration::from_secs;
        match env::var("TOWER_RECOVERY_HYPHA_FROZEN_SECONDS") {
            Ok(frozen) => Self {
                frozen: seconds(frozen.parse().expect("a number of seconds")),
                answer_timeout: seconds(30),
                suspect_after: seconds(2),
                ping_timeout: seconds(2),
            },
            Err(_) => Self {
                frozen: seconds(7),
                answer_timeout: seconds(5),
                suspect_after: Duration::from_millis(500),
                ping_timeout: Duration::from_millis(500),
            },
        }
    }

    async fn within<Output>(&self, test: impl Future<Output = Output>) -> Output {
        timeout(self.frozen + Duration::from_secs(90), test).await.expect("the test ends")
    }

    fn client(&self) -> impl FnOnce(HyphaClientBuilder) -> HyphaClientBuilder {
        let answer_timeout = self.answer_timeout;
        move |builder| builder.answer_timeout(answer_timeout)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_a_frozen_manager_in_public_move_on_when_they_suspect_it() {
    let times = Times::new();
    let Some(world) = times.within(World::start_in_public("in-public", times.client())).await else { return };
    let suspecting =
        |recovery: HyphaRecovery| recovery.suspect_after(times.suspect_after).ping_timeout(times.ping_timeout);
    let (watched, took) = times.within(freeze(&world, &times, "in-public-books", suspecting)).await;
    assert!(took < times.answer_timeout, "{took:?}: nobody waited for the timeout");
    assert_eq!(watched.suspected(), 1);
    assert_eq!(watched.evicted(), Vec::<String>::new(), "it was left before anything indicted it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_a_frozen_manager_of_several_move_on_when_their_time_is_up() {
    let times = Times::new();
    let Some(world) = times.within(World::start_abroad("frozen", times.client())).await else { return };
    let (watched, took) = times.within(freeze(&world, &times, "frozen-books", |recovery| recovery)).await;
    assert!(took >= times.answer_timeout, "{took:?}");
    assert_eq!(watched.suspected(), 0);
    assert_eq!(watched.evicted().len(), 1);
}

/// Has calls run into a manager that is frozen, and tells how long the reads took.
async fn freeze(
    world: &World,
    times: &Times,
    artifact: &str,
    settings: impl FnOnce(HyphaRecovery) -> HyphaRecovery,
) -> (Watched, Duration) {
    let (old, watched) = (world.manager("old").await, Watched::default());
    let stack = settings(world.recovery(&watched)).build().unwrap();
    outcome(&stack, &watched, create(artifact)).await.unwrap();

    old.freeze();
    let frozen = Instant::now();
    let new = world.manager("new").await;
    let began = Instant::now();
    let under_way = start(&stack, &watched, commits(artifact, COMMITS));
    for outcome in outcomes(start(&stack, &watched, reads(artifact, CALLERS))).await {
        outcome.unwrap();
    }
    let took = began.elapsed();
    println!("{artifact}: {CALLERS} reads answered within {took:?}");
    for outcome in outcomes(under_way).await {
        let failure = outcome.unwrap_err();
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{failure:?}");
        assert_eq!(failure.attempts(), 1);
        assert!(matches!(cause(&failure), CallError::TimedOut { .. }), "{failure:?}");
    }
    println!("{artifact}: {COMMITS} commits given up within {:?}", began.elapsed());

    let (was, is) = (world.identity(&old), world.identity(&new));
    assert_eq!(watched.resolved(), [was, is], "one resolve, and not to the one that is frozen");
    assert_eq!(watched.repeats("read"), [true; CALLERS]);
    assert_eq!(world.executed_by(&new).len(), CALLERS);
    assert_eq!(world.views(artifact), 0, "repeats count no view");

    // It is the time itself that is tested.
    sleep_until(frozen + times.frozen).await;
    old.thaw();
    // What has come to it meanwhile it executes now, and `create` is what it had executed before.
    world.wait_until_executed_by(&old, 1 + CALLERS + COMMITS).await;
    println!("{artifact}: executed {:?} after it froze", frozen.elapsed());
    outcome(&stack, &watched, create("another")).await.unwrap();
    assert_eq!(watched.resolved().len(), 2, "that it is there again moves nobody");

    let executed = world.executed();
    for at in 0..COMMITS {
        assert_eq!(under(&executed, &format!("commit-{at}")).len(), 1, "a commit is never repeated");
    }
    for at in 0..CALLERS {
        let views: Vec<_> = under(&executed, &format!("read-{at}")).iter().map(|one| one.view).collect();
        assert_eq!(views, [false, true], "the repeat first, in silence, and then the original");
    }
    assert_eq!(world.views(artifact), CALLERS);
    (watched, took)
}
