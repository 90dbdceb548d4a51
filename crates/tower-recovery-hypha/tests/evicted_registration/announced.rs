//! Another client unregisters the worker's service, and the server announces it.

use std::time::Duration;

use tokio::time::Instant;

use crate::support::{Hypha, Probing, Settings, entries, found, start, within};

/// The longest that a probe takes: its own first look-up is at some moment of it, which no test meets by chance.
const NEVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[tokio::test]
async fn that_the_server_announces_it_is_enough_for_a_service_to_be_found_again() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let probing = Probing { interval: NEVER, is_told: true };
        let mut worker = start(&Settings { probing, ..Settings::of(&hypha.server, "announced") }).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        assert_eq!(worker.monitor.status().look_ups, 0);

        let evicted = Instant::now();
        hypha.user.unregister_service(&id).await.unwrap();
        found(&hypha.user, &id).await;
        println!("announced: found again after {:?}", evicted.elapsed());

        let status = worker.wait_until(|status| status.confirmed == 1).await;
        assert_eq!((status.rebuilds, status.flaps), (1, 1));
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());
    })
    .await;
}
