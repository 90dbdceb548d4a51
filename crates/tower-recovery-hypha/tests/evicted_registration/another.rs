//! Somebody else lives under the worker's id.

use tower_recovery::registration::{Presence, Registrar, RegistrationHealth};
use tower_recovery_hypha::HyphaRegistrar;
use tower_recovery_test::hypha::no_keywords;

use crate::support::{Hypha, Settings, Work, found, probe, service, within};

#[tokio::test]
async fn the_registration_of_somebody_else_is_left_to_them_until_they_are_gone() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let client = Settings::of(&hypha.server, "shared-id").connect().await;
        client.offer(service(&Work::default())).await.unwrap();
        let (peer, own) = (client.id().to_string(), format!("{}:worker", client.id()));
        found(&hypha.user, &own).await;
        let (mut registrar, connection) = HyphaRegistrar::new(client);
        registrar.close(connection).await;
        assert_eq!(registrar.look_up(None).await.unwrap(), Presence::Missing);

        let other = hypha.server.peer("shared-id").await.unwrap();
        let theirs = other.register("theirs").await.unwrap();
        assert_eq!(registrar.look_up(None).await.unwrap(), Presence::Another(peer.as_str().into()));

        // A probe that begins without a connection looks, and would connect at once.
        let probe = probe(registrar).build().unwrap();
        let mut monitor = probe.monitor();
        let mut probing = tokio::spawn(probe.run());
        let is_theirs = |health: &RegistrationHealth| matches!(health, RegistrationHealth::Superseded { by, .. } if by.as_str() == peer);
        monitor.wait_until(|status| is_theirs(&status.health)).await.unwrap();
        monitor.wait_until(|status| status.look_ups >= 3).await.unwrap();
        assert!(is_theirs(&monitor.status().health) && monitor.status().rebuilds == 0, "{:?}", monitor.status());
        hypha.user.call(&theirs, "echo", [], no_keywords()).await.unwrap();
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());

        other.disconnect().await.unwrap();
        found(&hypha.user, &own).await;
        monitor.wait_until(|status| status.is_registered()).await.unwrap();
        assert!(!hypha.had_two_at_a_time(&peer), "{}", hypha.server.logs());
        probing.abort();
        assert!((&mut probing).await.is_err());
    })
    .await;
}
