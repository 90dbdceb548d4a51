//! The server's orphan reaper takes a frozen worker for dead: it forgets all services of it, and leaves the connection open.

use std::time::Duration;

use tokio::time::Instant;
use tower_recovery_test::hypha::HyphaServer;

use crate::support::{Hypha, REPAIRED_WITHIN, Settings, entries, found, gone, process::spawn, within};

#[tokio::test]
async fn a_worker_that_was_frozen_and_reaped_is_found_again_after_it_thaws() {
    within(async {
        let builder = HyphaServer::builder().orphan_reaper(Duration::from_secs(4), Duration::from_secs(1));
        let Some(hypha) = Hypha::start(builder).await else { return };
        // In a workspace where the server drops services of clients whose own service is gone.
        let user = hypha.server.peer_builder("user").workspace("ws-reaped").start().await.unwrap();
        let token = hypha.user.generate_token("ws-reaped").await.unwrap();
        let mut worker = spawn(&Settings { token, ..Settings::of(&hypha.server, "frozen") }).await;
        let (peer, id) = ("ws-reaped/frozen", "ws-reaped/frozen:worker");
        found(&user, id).await;

        worker.freeze();
        println!("reaped {:?} after it froze", gone(&user, peer).await);
        assert!(user.resolve(id, None).await.unwrap_err().text().contains("Service not found"));

        worker.thaw();
        let thawed = Instant::now();
        found(&user, id).await;
        let after = thawed.elapsed();
        assert!(after < REPAIRED_WITHIN, "{after:?}");
        println!("reaped: found again {after:?} after it thawed");
        worker.wait_until_confirmed(1).await;
        assert_eq!(entries(&user, peer).await, ["built-in", "worker"]);
        assert!(!hypha.had_two_at_a_time(peer), "{}", hypha.server.logs());
    })
    .await;
}
