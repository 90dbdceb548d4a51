//! A rebuild in the middle of something else.

use futures_util::FutureExt;
use tower_recovery::registration::{Presence, Registrar};
use tower_recovery_hypha::{CallError, ConnectionStatus, HyphaRegistrar, Value};
use tower_recovery_test::CuttingProxy;

use crate::support::{Hypha, Settings, Work, echo, entries, found, service, start, within};

#[tokio::test]
async fn a_rebuild_while_the_client_connects_by_itself_ends_registered() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let address = hypha.server.url().trim_start_matches("http://").parse().unwrap();
        let proxy = CuttingProxy::before(address).start().await.unwrap();
        let settings = Settings { url: proxy.origin(), ..Settings::of(&hypha.server, "rebuilding") };
        let mut worker = start(&settings).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;

        proxy.refuse().await;
        // Closed by the probe, and being made by the client all the time.
        let status = worker.wait_until(|status| status.rebuilds >= 1).await;
        assert_eq!((status.confirmed, status.flaps), (0, 1));
        proxy.accept_again().unwrap();
        found(&hypha.user, &id).await;
        worker.wait_until(|status| status.is_registered()).await;
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
        assert_eq!(proxy.connections_open(), 1);
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());
    })
    .await;
}

#[tokio::test]
async fn steps_of_a_rebuild_that_are_dropped_leave_nothing_that_the_next_one_cannot_repair() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let client = Settings::of(&hypha.server, "dropped-steps").connect().await;
        client.offer(service(&Work::default())).await.unwrap();
        let (peer, id) = (client.id().to_string(), format!("{}:worker", client.id()));
        let (mut registrar, connection) = HyphaRegistrar::new(client.clone());

        // Not even polled once; polled once; and a look-up in between.
        drop(registrar.close(connection));
        let connection = registrar.connect().await.unwrap();
        assert_eq!(registrar.look_up(Some(&connection)).await.unwrap(), Presence::Ours);
        assert!(registrar.close(connection).now_or_never().is_none());
        assert!(registrar.connect().now_or_never().is_none());
        client.status().wait_for(|status| matches!(status, ConnectionStatus::Closed)).await.unwrap();
        assert_eq!(registrar.look_up(None).await.unwrap(), Presence::Missing);

        let connection = registrar.connect().await.unwrap();
        registrar.register(&connection).await.unwrap();
        assert_eq!(registrar.look_up(Some(&connection)).await.unwrap(), Presence::Ours);
        found(&hypha.user, &id).await;
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());
    })
    .await;
}

#[tokio::test]
async fn calls_that_come_during_a_rebuild_wait_for_the_connection_that_follows() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let client = Settings::of(&hypha.server, "held").connect().await;
        let (mut registrar, connection) = HyphaRegistrar::new(client.clone());
        registrar.close(connection).await;
        let mut waits = client.manager(echo());
        assert!((&mut waits).now_or_never().is_none());
        let connection = registrar.connect().await.unwrap();
        assert_eq!(waits.await.unwrap(), Value::from("ping"));

        // Also through a step that fails or is dropped, which is tried again; and until the client's user closes it.
        registrar.close(connection).await;
        let mut waits = client.manager(echo());
        assert!((&mut waits).now_or_never().is_none());
        assert!(registrar.connect().now_or_never().is_none());
        client.status().wait_for(|status| matches!(status, ConnectionStatus::Closed)).await.unwrap();
        assert!((&mut waits).now_or_never().is_none());
        client.close().await;
        assert!(matches!(waits.await, Err(CallError::Closed)));
        assert!(matches!(client.manager(echo()).await, Err(CallError::Closed)));
    })
    .await;
}
