//! What the server announces of services that were taken out of the registry, and what a probe makes of it.

use std::time::Duration;

use tower_recovery::RegistrationProbe;
use tower_recovery_hypha::{HyphaRegistrar, LocalService, Value};

use crate::{
    serving::offer,
    support::{connected, soon},
};

/// The longest that a probe takes: its own first look-up is at some moment of it, which no test meets by chance.
const NEVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[tokio::test]
async fn a_probe_looks_when_the_server_says_that_an_own_service_was_removed_and_for_nobody_else() {
    let (_server, mut link, client) = connected().await;
    let registered = offer(&mut link, &client, LocalService::new("worker").unwrap()).await;
    link.registrations.push(registered);
    let (registrar, open) = HyphaRegistrar::new(client.clone());
    let probe = RegistrationProbe::builder(registrar).connection(open).interval(NEVER).build().unwrap();
    let mut monitor = probe.monitor();
    let told = tokio::spawn(client.report_to(probe.monitor()));
    let probing = tokio::spawn(probe.run());

    for (id, from) in [
        // Forged: the server relays any type of frame, and writes who it is from.
        ("ws/rust-client:worker", Some("ws2/forger")),
        ("ws/rust-client:worker", Some("ws/rust-client")),
        // Of somebody else, or of none that is offered.
        ("ws/peer:worker", None),
        ("ws2/rust-client:worker", None),
        ("ws/rust-client-2:worker", None),
        ("ws/rust-client:another", None),
        ("ws/rust-client", None),
        ("worker", None),
    ] {
        link.service_removed(id, from).await;
        assert!(link.frames_until_now().await.is_empty(), "{id} from {from:?}");
        assert_eq!(monitor.status().look_ups, 0);
    }

    link.service_removed("ws/rust-client:worker", None).await;
    let asked = link.frame("services.default.list_services").await;
    link.resolve(&asked, Value::Array(link.registrations.clone())).await;
    let status = soon(monitor.wait_until(|status| status.look_ups == 1)).await.expect("the probe runs");
    assert!(status.is_registered(), "{status:?}");
    told.abort();
    probing.abort();
}
