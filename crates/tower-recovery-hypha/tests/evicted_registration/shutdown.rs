//! A worker that ends, in order or not.

use tokio::sync::oneshot;
use tower_recovery::registration::Registrar;
use tower_recovery_hypha::{CallError, ConnectionStatus, HyphaRegistrar};

use crate::support::{Hypha, Settings, Work, echo, entries, found, gone, probe, service, start, within};

#[tokio::test]
async fn what_is_withdrawn_or_closed_is_not_found_from_then_on() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let mut worker = start(&Settings::of(&hypha.server, "leaving")).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;

        worker.client.withdraw("worker").await.unwrap();
        assert!(hypha.user.resolve(&id, None).await.unwrap_err().text().contains("Service not found"));
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in"]);
        // Nothing of that is lost: the probe looks for what is offered.
        let look_ups = worker.monitor.status().look_ups;
        worker.wait_until(|status| status.look_ups >= look_ups + 2).await;
        assert_eq!((worker.monitor.status().rebuilds, worker.monitor.status().flaps), (0, 0));

        worker.client.offer(service(&Work::default())).await.unwrap();
        found(&hypha.user, &id).await;
        // The probe first, or it might put the worker back.
        worker.tasks.shutdown().await;
        worker.client.close().await;
        // The server says that it is closed a moment before it forgets the client.
        println!("closed: not found any more after {:?}", gone(&hypha.user, &peer).await);
        assert!(hypha.user.resolve(&id, None).await.unwrap_err().text().contains("Service not found"));
        assert!(matches!(worker.client.manager(echo()).await, Err(CallError::Closed)));
    })
    .await;
}

#[tokio::test]
async fn a_probe_that_is_dropped_closes_the_client_and_one_that_is_told_to_end_gives_it_back() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let client = Settings::of(&hypha.server, "given-back").connect().await;
        client.offer(service(&Work::default())).await.unwrap();
        let id = format!("{}:worker", client.id());
        let (registrar, connection) = HyphaRegistrar::new(client.clone());
        let probe_ = probe(registrar).connection(connection).build().unwrap();
        let (end, ended) = oneshot::channel();
        let probing = tokio::spawn(probe_.run_until(async { ended.await.unwrap_or_default() }));
        end.send(()).unwrap();
        let (registrar, connection) = probing.await.unwrap();
        assert!(client.status().borrow().is_connected());
        found(&hypha.user, &id).await;

        let probe_ = probe(registrar).connection(connection.expect("it was not being closed")).build().unwrap();
        drop(probe_);
        let mut status = client.status();
        status.wait_for(|status| matches!(status, ConnectionStatus::Closed)).await.unwrap();
        gone(&hypha.user, &client.id()).await;

        // A closed client is no dead end.
        let (mut registrar, connection) = HyphaRegistrar::new(client);
        registrar.close(connection).await;
        let connection = registrar.connect().await.unwrap();
        registrar.register(&connection).await.unwrap();
        found(&hypha.user, &id).await;
    })
    .await;
}
