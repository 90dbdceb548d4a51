//! The server freezes, with all its sockets open.

use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, timeout};
use tower_recovery::registration::{Presence, Registrar};
use tower_recovery_hypha::{CallError, HyphaRegistrar, Place};
use tower_recovery_test::hypha::HyphaServer;

use crate::support::{Hypha, Settings, echo, entries, found, start_with, within};

#[tokio::test]
async fn a_server_that_is_frozen_for_longer_than_the_keep_alive_finds_the_worker_once_when_it_thaws() {
    within(async {
        let Some(hypha) = Hypha::start(HyphaServer::builder()).await else { return };
        let settings = Settings::of(&hypha.server, "patient");
        let builder = settings.builder().keep_alive(Duration::from_secs(1), Duration::from_secs(1));
        let client = builder.connect_timeout(Duration::from_secs(2)).connect().await.unwrap();
        let mut worker = start_with(client, settings.probing).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        let mut status = worker.client.status();

        hypha.server.freeze();
        let frozen = Instant::now();
        let in_flight = worker.client.manager(echo()).await;
        assert!(matches!(&in_flight, Err(CallError::ConnectionLost { .. })), "{in_flight:?}");
        assert_eq!(in_flight.unwrap_err().place(), Place::Unanswered);
        status.wait_for(|status| !status.is_connected()).await.unwrap();
        println!("frozen server: given up after {:?}", frozen.elapsed());
        // Its probe closes and connects, in vain.
        worker.wait_until(|status| status.rebuilds >= 1).await;
        hypha.server.thaw();
        let thawed = Instant::now();
        found(&hypha.user, &id).await;
        println!("frozen server: found again {:?} after it thawed", thawed.elapsed());
        worker.wait_until(|status| status.is_registered()).await;
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);

        // A close that hangs is not taken for one that is done: what is opened next is another connection.
        worker.tasks.shutdown().await;
        worker.client.open().await.unwrap();
        let (mut registrar, connection) = HyphaRegistrar::new(worker.client.clone());
        hypha.server.freeze();
        assert!(timeout(Duration::from_millis(100), registrar.close(connection)).await.is_err());
        assert!(worker.client.open().now_or_never().is_none());
        hypha.server.thaw();
        let connection = registrar.connect().await.unwrap();
        registrar.register(&connection).await.unwrap();
        assert_eq!(registrar.look_up(Some(&connection)).await.unwrap(), Presence::Ours);
        found(&hypha.user, &id).await;
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
    })
    .await;
}
