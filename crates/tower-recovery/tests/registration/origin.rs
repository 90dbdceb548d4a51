//! The behaviours by which the origin of the probe was tested: a worker whose registration was dropped while its socket stayed open.

use std::convert::Infallible;

use tokio::time::{Instant, sleep, timeout};
use tower::service_fn;
use tower_recovery::{HandleCache, RegistrationProbe, Resolved, registration::Registrar};

use super::world::{
    Act, Answers, Asked, Entry, ID, INTERVAL, LONGEST, LocalWork, Registry, Serving, What, Worker, assert_apart,
    seconds, slot,
};

#[tokio::test(start_paused = true)]
async fn a_live_socket_with_a_dropped_registration_still_rebuilds() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let socket = serving.registry().open(ID).unwrap();
    serving.registry().evict(ID);
    assert_eq!(serving.registry().open(ID), Some(socket), "the socket is open all the while");

    let status = serving.until(|status| status.confirmed == 1).await;
    assert!(status.is_registered());
    assert_eq!((status.rebuilds, status.flaps), (1, 1));
    let [Entry::Owner { connection, .. }] = serving.registry().entries(ID)[..] else { panic!("one entry, and ours") };
    assert_eq!(serving.registry().open(ID), Some(connection));
    assert_ne!(connection, socket);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn a_healthy_registration_is_left_alone() {
    let mut serving = Serving::begin();
    let (entries, socket) = (serving.registry().entries(ID), serving.registry().open(ID));
    let status = serving.looked_up(100).await;

    assert_eq!((status.rebuilds, status.confirmed, status.flaps), (0, 0, 0));
    assert_eq!((serving.registry().entries(ID), serving.registry().open(ID)), (entries, socket));
    assert_eq!([Asked::Close, Asked::Connect, Asked::Register].map(|asked| serving.registry().count(asked)), [0; 3]);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn the_probe_costs_one_round_trip_per_interval() {
    let mut serving = Serving::begin();
    serving.looked_up(1).await;
    let began = Instant::now();
    sleep(INTERVAL * 100).await;

    let times = serving.registry().times(Asked::LookUp);
    assert_eq!(times.iter().filter(|at| **at > began).count(), 100);
    assert_apart(&times, INTERVAL);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_fails_rebuilds_too() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    // The one that is due, and the one after the spread.
    serving.worker.next(Asked::LookUp, [Act::Fails("connection reset"); 2]);

    let status = serving.until(|status| status.confirmed == 1).await;
    assert_eq!((status.rebuilds, status.flaps), (1, 1));
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn a_rebuild_that_fails_raises_nothing_and_the_probe_goes_on() {
    for step in [Asked::Connect, Asked::Register] {
        let mut serving = Serving::begin();
        serving.healthy().await;
        serving.registry().evict(ID);
        serving.worker.next(step, [Act::FailsForGood("wrong workspace"); 2]);

        let status = serving.until(|status| status.confirmed == 1).await;
        assert_eq!((status.rebuilds, status.flaps), (3, 1), "one an interval, of one episode");
        assert_apart(&serving.rebuilds(), INTERVAL);
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn failures_without_end_condemn_nothing() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let slot = slot();
    let work = LocalWork::begin(&slot, 6_000);
    serving.registry().evict(ID);
    serving.registry().answers(Answers::Down);
    for rebuild in 1..=90 {
        serving.until(|status| status.rebuilds == rebuild).await;
        serving.is_sound();
    }
    assert!(work.is_under_way());
    assert_eq!(serving.status().flaps, 1);

    serving.registry().answers(Answers::Truly);
    serving.healthy().await;
    work.delivered().await;
    serving.is_sound();
}

/// By type: there is no error that anybody could count, and no end that anybody could act upon.
#[tokio::test(start_paused = true)]
async fn the_probe_is_not_wired_into_anything_that_could_end_the_process() {
    fn probes<R: Registrar>(probe: RegistrationProbe<R>) -> impl Future<Output = Infallible> + Send + 'static {
        probe.run()
    }
    let worker = Worker::new(&Registry::new(), ID);
    let probing = probes(RegistrationProbe::builder(worker.clone()).build().unwrap());
    worker.registry.answers(Answers::Down);
    assert!(timeout(INTERVAL * 1_000, probing).await.is_err(), "it goes on for as long as it is polled");
}

#[tokio::test(start_paused = true)]
async fn a_hung_disconnect_does_not_stall_the_rebuild() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let old = serving.registry().open(ID).unwrap();
    serving.registry().evict(ID);
    serving.worker.next(Asked::Close, [Act::Hangs]);
    serving.until(|status| status.confirmed == 1).await;

    let closing = serving.registry().times(Asked::Close)[0];
    let connecting = serving.registry().times(Asked::Connect)[0];
    assert_eq!((connecting - closing).as_millis(), 5_000, "neither given up at once nor waited for");
    let log = serving.registry().log();
    let freed = log.iter().find(|happened| happened.what == What::Freed(old)).unwrap();
    assert!(freed.at <= connecting, "what does not close is dropped");
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn the_old_connection_is_closed_before_another_is_asked_for() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let old = serving.registry().open(ID).unwrap();
    for acts in [[Act::Works, Act::Works], [Act::Works, Act::Fails("timed out")], [Act::Hangs, Act::Hangs]] {
        serving.registry().evict(ID);
        serving.worker.next(Asked::Close, [acts[0]]);
        serving.worker.next(Asked::Register, [acts[1]]);
        serving.failing().await;
        serving.healthy().await;
    }
    serving.is_sound();

    // One connection is open at a time, from the first to the last.
    let mut open = Some(old);
    for happened in serving.registry().log().into_iter().skip(1) {
        match happened.what {
            What::Freed(connection) => assert_eq!(open.take(), Some(connection)),
            What::Opened(connection) => assert_eq!(open.replace(connection), None),
            What::Began(Asked::Connect, _) => assert_eq!(open, None, "asked for before the old one was closed"),
            What::Began(..) => {}
        }
    }
    assert_eq!(serving.registry().open(ID), open);
}

#[tokio::test(start_paused = true)]
async fn handles_derived_from_the_connection_are_pointed_at_the_new_one() {
    let worker = Worker::new(&Registry::new(), ID);
    // A handle is a proxy over whatever connection is open when it is made.
    let registry = worker.registry.clone();
    let resolver = service_fn(move |name: &'static str| {
        let connection = registry.open(ID).unwrap();
        async move { Ok::<_, Infallible>(Resolved::new(name, connection)) }
    });
    let caches = ["artifact-manager", "app-builder"].map(|name| HandleCache::new(resolver.clone(), name));
    let [artifacts, apps] = caches.clone();
    let mut serving = Serving::with(worker, |builder| builder.derives(artifacts).derives(apps));
    serving.healthy().await;
    let old = serving.registry().open(ID).unwrap();
    for cache in &caches {
        assert_eq!(cache.acquire().await.unwrap().handle, old);
    }

    serving.registry().evict(ID);
    serving.until(|status| status.confirmed == 1).await;
    for cache in &caches {
        assert_eq!(Some(cache.acquire().await.unwrap().handle), serving.registry().open(ID));
    }
    assert_ne!(serving.registry().open(ID), Some(old));
}

#[tokio::test(start_paused = true)]
async fn the_same_id_is_kept_through_every_rebuild() {
    let mut serving = Serving::begin();
    for rebuild in 1..=5 {
        serving.registry().evict(ID);
        serving.until(|status| status.confirmed == rebuild).await;
        assert_eq!(serving.registry().entries(ID).len(), 1);
    }
    assert!(serving.registry().log().iter().all(|happened| happened.id == ID));
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn it_is_the_running_probe_that_asks() {
    let worker = Worker::new(&Registry::new(), ID);
    let probe = RegistrationProbe::builder(worker.clone()).connection(worker.registered()).build().unwrap();
    let mut monitor = probe.monitor();
    worker.registry.evict(ID);
    sleep(seconds(600)).await;
    assert_eq!(worker.registry.count(Asked::LookUp), 0, "a probe that nobody runs does nothing");

    let probing = tokio::spawn(probe.run());
    timeout(LONGEST, monitor.wait_until(|status| status.confirmed == 1)).await.unwrap().unwrap();
    assert_eq!(worker.registry.count(Asked::LookUp), 3, "that it is lost, that it still is, and that it is back");
    probing.abort();
}
