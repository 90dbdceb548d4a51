//! Another process tries to connect under the worker's id: the server refuses it, and closes its end of the worker's connection.

use tokio::time::{Instant, timeout};
use tower::{Service, ServiceExt};
use tower_recovery::{Classify, Delivery, Failure, ReadMethods, Recovery};
use tower_recovery_hypha::{
    Call, CallError, ConnectError, HyphaClassifier, HyphaFrontDoor, ServiceId, StartError, Value,
};

use crate::support::{Hypha, INTERVAL, REPAIRED_WITHIN, Settings, Worker, echo, entries, found, start, within};

/// Waits until the worker is there again, over a new connection.
async fn came_back(hypha: &Hypha, worker: &Worker, evicted: Instant) {
    found(&hypha.user, &worker.service()).await;
    let after = evicted.elapsed();
    assert!(after < REPAIRED_WITHIN, "{after:?}");
    println!("a refused duplicate: found again after {after:?}");
    assert_eq!(entries(&hypha.user, &worker.peer()).await, ["built-in", "worker"]);
}

#[tokio::test]
async fn a_refused_python_client_takes_the_registration_away_until_the_next_look_up() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let worker = start(&Settings::of(&hypha.server, "twice")).await;
        found(&hypha.user, &worker.service()).await;

        let evicted = Instant::now();
        let refused = hypha.user.try_connect("twice").await.unwrap_err();
        assert!(refused.text().contains("Client already exists and is active"), "{refused}");
        assert!(hypha.had_two_at_a_time(&worker.peer()), "{}", hypha.server.logs());
        came_back(&hypha, &worker, evicted).await;
    })
    .await;
}

#[tokio::test]
async fn a_refused_rust_client_is_told_who_has_its_id_and_the_owner_comes_back() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let settings = Settings::of(&hypha.server, "twice-rust");
        let worker = start(&settings).await;
        found(&hypha.user, &worker.service()).await;

        let evicted = Instant::now();
        let refused = settings.builder().connect().await.unwrap_err();
        let StartError::Connect(refused) = refused else { panic!("{refused:?}") };
        let ConnectError::AlreadyConnected { client } = &*refused else { panic!("{refused:?}") };
        assert_eq!(**client, *worker.peer());
        came_back(&hypha, &worker, evicted).await;
    })
    .await;
}

#[tokio::test]
async fn a_call_that_hears_of_it_brings_the_worker_back_at_once() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let mut worker = start(&Settings::of(&hypha.server, "told")).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        worker.wait_until(|status| status.is_registered()).await;
        let before = worker.monitor.status().look_ups;

        hypha.user.try_connect("told").await.unwrap_err();
        let evicted = Instant::now();
        let error = worker.client.manager(echo()).await.unwrap_err();
        let CallError::OwnConnectionClosed { client } = &error else { panic!("{error:?}") };
        assert_eq!(**client, *peer);
        let classifier = HyphaClassifier::new().reporting_to(worker.monitor.clone());
        let verdict = Classify::<Value>::error(&classifier, &error);
        assert_eq!((verdict.delivery(), verdict.is_stale()), (Some(Delivery::Refused), false));

        // A twelfth of an interval, and not a whole one.
        let status = worker.wait_until(|status| status.look_ups > before).await;
        let asked = evicted.elapsed();
        assert!(asked < INTERVAL / 2, "{asked:?}");
        println!("a call that was told: asked after {asked:?}, {status:?}");
        found(&hypha.user, &id).await;
        println!("a call that was told: found again after {:?}", evicted.elapsed());
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
    })
    .await;
}

#[tokio::test]
async fn the_front_door_tells_the_probe_and_its_read_is_answered() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let mut worker = start(&Settings::of(&hypha.server, "front-door")).await;
        let provider = hypha.server.peer("provider-of-echo").await.unwrap();
        let echo: ServiceId = provider.register("echo").await.unwrap().parse().unwrap();
        found(&hypha.user, &worker.service()).await;
        let mut stack = Recovery::hypha(&worker.client, echo)
            .reads(ReadMethods::new().read("echo"))
            .reporting_to(worker.monitor.clone())
            .build()
            .unwrap();
        let mut call =
            async || -> Result<Value, Failure> { stack.ready().await?.call(Call::new("echo").arg("book")).await };
        assert_eq!(call().await.unwrap(), Value::from("book"));
        worker.wait_until(|status| status.is_registered()).await;
        let before = worker.monitor.status().look_ups;

        hypha.user.try_connect("front-door").await.unwrap_err();
        let evicted = Instant::now();
        assert_eq!(call().await.unwrap(), Value::from("book"));
        println!("a refused duplicate: the read of the front door was answered after {:?}", evicted.elapsed());
        timeout(INTERVAL / 2, worker.wait_until(|status| status.look_ups > before)).await.expect("it was told");
        found(&hypha.user, &worker.service()).await;
        assert_eq!(entries(&hypha.user, &worker.peer()).await, ["built-in", "worker"]);
    })
    .await;
}
