//! Another client unregisters the worker's services, and nobody tells the probe: a registry that forgets says nothing either.

use tokio::time::Instant;
use tower_recovery::registration::{Presence, Registrar};
use tower_recovery_hypha::{HyphaRegistrar, Value};

use crate::support::{Hypha, REPAIRED_WITHIN, Settings, Work, echo, entries, found, service, start, within};

#[tokio::test]
async fn a_service_that_was_unregistered_is_found_again_within_an_interval() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let mut worker = start(&Settings::of(&hypha.server, "forgotten").untold()).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        // The worst time for it: the probe has just looked, and the next look-up is an interval away.
        worker.wait_until(|status| status.is_registered()).await;

        let evicted = Instant::now();
        hypha.user.unregister_service(&id).await.unwrap();
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in"]);
        assert!(worker.client.status().borrow().is_connected());
        found(&hypha.user, &id).await;
        let after = evicted.elapsed();
        assert!(after < REPAIRED_WITHIN, "{after:?}");
        println!("unregistered: found again after {after:?}");

        let status = worker.wait_until(|status| status.confirmed == 1).await;
        assert_eq!((status.rebuilds, status.flaps), (1, 1));
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());
    })
    .await;
}

#[tokio::test]
async fn a_registry_that_says_yes_and_drops_the_service_is_not_believed() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        // The server drops services of clients that it has forgotten in all workspaces but root's own.
        let user = hypha.server.peer_builder("user").workspace("ws-dropped").start().await.unwrap();
        let root = hypha.server.peer("root").await.unwrap();
        let token = root.generate_token("ws-dropped").await.unwrap();
        let settings = Settings { token, ..Settings::of(&hypha.server, "dropped") };

        // Without a probe: the socket answers, the service resolves nowhere, and registering it again is answered with success.
        let client = settings.connect().await;
        client.offer(service(&Work::default())).await.unwrap();
        let (peer, id) = (client.id().to_string(), format!("{}:worker", client.id()));
        found(&user, &id).await;
        user.unregister_service(&id).await.unwrap();
        user.unregister_service(&format!("{peer}:built-in")).await.unwrap();
        assert_eq!(client.manager(echo()).await.unwrap(), Value::from("ping"));
        assert!(user.resolve(&id, None).await.unwrap_err().text().contains("Service not found"));
        client.offer(service(&Work::default())).await.unwrap();
        assert_eq!(entries(&user, &peer).await, Vec::<String>::new());
        assert!(client.status().borrow().is_connected());

        // With one: close, connect, register.
        let (mut registrar, connection) = HyphaRegistrar::new(client);
        assert_eq!(registrar.look_up(Some(&connection)).await.unwrap(), Presence::Missing);
        registrar.close(connection).await;
        let connection = registrar.connect().await.unwrap();
        registrar.register(&connection).await.unwrap();
        assert_eq!(registrar.look_up(Some(&connection)).await.unwrap(), Presence::Ours);
        found(&user, &id).await;
        assert_eq!(entries(&user, &peer).await, ["built-in", "worker"]);

        // The service that every client has is a part of it: without it the server takes the client for dead.
        user.unregister_service(&format!("{peer}:built-in")).await.unwrap();
        assert_eq!(registrar.look_up(Some(&connection)).await.unwrap(), Presence::Missing);
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());
    })
    .await;
}
