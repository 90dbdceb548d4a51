//! Several workers lose their registrations at one moment, and nobody tells their probes.

use futures_util::future::join_all;
use tokio::time::Instant;

use crate::support::{Hypha, REPAIRED_WITHIN, Settings, entries, found, start, within};

#[tokio::test]
async fn workers_that_were_forgotten_together_come_back_each_within_an_interval_and_once() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let settings = |client_id| Settings::of(&hypha.server, client_id).untold();
        let settings = ["fleet-1", "fleet-2", "fleet-3"].map(settings);
        let mut workers = join_all(settings.iter().map(start)).await;
        let ids: Vec<_> = workers.iter().map(|worker| worker.service()).collect();
        join_all(ids.iter().map(|id| found(&hypha.user, id))).await;

        let evicted = Instant::now();
        for outcome in join_all(ids.iter().map(|id| hypha.user.unregister_service(id))).await {
            outcome.unwrap();
        }
        let mut back: Vec<_> = join_all(workers.iter_mut().map(async |worker| {
            worker.wait_until(|status| status.confirmed == 1).await;
            evicted.elapsed()
        }))
        .await;
        back.sort();
        println!("a fleet of three: registered again after {back:?}");
        assert!(back.iter().all(|after| *after < REPAIRED_WITHIN), "{back:?}");
        for worker in &workers {
            found(&hypha.user, &worker.service()).await;
            assert_eq!(entries(&hypha.user, &worker.peer()).await, ["built-in", "worker"]);
            assert_eq!(worker.monitor.status().rebuilds, 1);
            assert!(!hypha.had_two_at_a_time(&worker.peer()), "{}", hypha.server.logs());
        }
    })
    .await;
}
