//! Failures that others reported in public, each by its number: leases that ran out, registries that were away, and ids that others had taken.

use std::convert::Infallible;

use tokio::time::{Duration, Instant, sleep};
use tower::service_fn;
use tower_recovery::{HandleCache, RecoveryEvent, Resolved, registration::RegistrationHealth};

use super::world::{
    Answers, Asked, Entry, ID, INTERVAL, LocalWork, Registry, Serving, What, Worker, assert_apart, seconds, slot,
};

const TTL: Duration = INTERVAL;

// kitex-contrib/registry-etcd#11, smallnest/rpcx#420, asim/nitro-plugins#127, jquatier/eureka-js-client#47, line/armeria#3238, rabbitmq/rabbitmq-server#17404
#[tokio::test(start_paused = true)]
async fn b95_a_lease_that_ran_out_is_followed_by_a_new_one_and_never_renewed() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let old = serving.registry().open(ID).unwrap();
    let [Entry::Owner { lease: first, .. }] = serving.registry().evict(ID)[..] else { panic!("one entry") };
    let lost = Instant::now();

    serving.until(|status| status.confirmed == 1).await;
    serving.looked_up(10).await;
    let [Entry::Owner { lease, .. }] = serving.registry().entries(ID)[..] else { panic!("one entry, exactly") };
    assert_ne!(lease, first);
    let asked_over = |connection| {
        let log = serving.registry().log();
        log.iter().filter(|is| is.at > lost && is.what == What::Began(Asked::LookUp, Some(connection))).count()
    };
    assert_eq!(asked_over(old), 2, "the one that noticed, and the one that made sure");
    assert_eq!(asked_over(serving.registry().open(ID).unwrap()), 11, "one that confirmed, and one an interval");
    assert_eq!(serving.registry().count(Asked::Register), 1);
    serving.is_sound();
}

// milvus-io/milvus#26846
#[tokio::test(start_paused = true)]
async fn b97_a_registry_that_was_away_for_two_leases_finds_the_process_at_work() {
    let worker = Worker::new(&Registry::new(), ID);
    let registry = worker.registry.clone();
    let resolver = service_fn(move |name: &'static str| {
        let connection = registry.open(ID);
        async move { Ok::<_, Infallible>(Resolved::new(name, connection)) }
    });
    let cache = HandleCache::new(resolver, "artifact-manager");
    let derived = cache.clone();
    let mut serving = Serving::with(worker, |builder| builder.derives(derived));
    serving.healthy().await;
    let before = cache.acquire().await.unwrap().handle;
    let slot = slot();
    let work = LocalWork::begin(&slot, 600);
    serving.registry().answers(Answers::Down);
    sleep(TTL * 2).await;
    serving.registry().evict(ID);
    serving.is_sound();
    assert!(work.is_under_way());

    serving.registry().answers(Answers::Truly);
    let status = serving.healthy().await;
    assert_eq!((status.confirmed, status.flaps), (1, 1));
    let after = cache.acquire().await.unwrap().handle;
    assert_eq!(after, serving.registry().open(ID));
    assert!(after.is_some() && after != before, "the handle is made anew too");
    work.delivered().await;
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b97_an_id_that_somebody_else_has_is_left_to_them_and_reported_once() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().evict(ID);
    serving.registry().seize(ID, "worker-8");
    let superseded = |event: &RecoveryEvent| matches!(event, RecoveryEvent::RegistrationSuperseded { .. });
    let status = serving.looked_up(20).await;

    let RegistrationHealth::Superseded { by, since } = status.health else { panic!("{status:?}") };
    assert_eq!(by.as_str(), "worker-8");
    assert_eq!(serving.events.times(superseded), [since]);
    assert_eq!((status.rebuilds, status.flaps), (0, 1));
    assert_eq!([Asked::Close, Asked::Connect, Asked::Register].map(|asked| serving.registry().count(asked)), [0; 3]);
    assert_eq!(serving.registry().entries(ID), [Entry::Another("worker-8")]);
    assert_apart(&serving.registry().times(Asked::LookUp), INTERVAL);

    // They are gone.
    serving.registry().evict(ID);
    let status = serving.until(|status| status.confirmed == 1).await;
    assert_eq!((status.rebuilds, status.flaps), (1, 1), "of the same episode");
    assert!(matches!(serving.registry().entries(ID)[..], [Entry::Owner { .. }]));
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b97_an_id_that_is_taken_while_it_is_rebuilt_is_left_to_them_too() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().evict(ID);
    serving.failing().await;
    // The look-up after the spread sees them.
    serving.registry().seize(ID, "worker-8");
    let status = serving.looked_up(10).await;
    assert!(matches!(status.health, RegistrationHealth::Superseded { .. }));
    assert_eq!((status.rebuilds, serving.registry().count(Asked::Connect)), (0, 0));

    // The next one takes it after the last look-up, and is found by registering.
    serving.registry().evict(ID);
    serving.until(|status| status.rebuilds == 1).await;
    serving.registry().seize(ID, "worker-9");
    let status = serving
        .until(
            |status| matches!(&status.health, RegistrationHealth::Superseded { by, .. } if by.as_str() == "worker-9"),
        )
        .await;
    assert_eq!((status.rebuilds, status.confirmed, status.flaps), (1, 0, 1));
    assert_eq!(serving.registry().entries(ID), [Entry::Another("worker-9")]);
    serving.is_sound();
}

// amun-ai/hypha#899, #854
#[tokio::test(start_paused = true)]
async fn b101_a_connection_that_repairs_itself_in_a_second_costs_nothing_but_a_look_up() {
    let mut serving = Serving::begin();
    let slot = slot();
    let work = LocalWork::begin(&slot, 1_800);
    for _ in 0..10 {
        serving.looked_up(1).await;
        let open = serving.registry().open(ID);
        let looked_up = serving.registry().count(Asked::LookUp);
        let ended = Instant::now();
        serving.monitor.disconnected();
        let entries = serving.registry().evict(ID);
        sleep(seconds(1)).await;
        serving.registry().restore(ID, entries);

        serving.looked_up(1).await;
        let times = serving.registry().times(Asked::LookUp);
        assert_eq!((times[looked_up] - ended).as_millis(), 30_000, "after the grace, and not within it");
        assert_eq!(serving.registry().open(ID), open);
    }
    assert!(work.is_under_way());
    let status = serving.status();
    assert_eq!((status.rebuilds, status.flaps, status.is_registered()), (0, 0, true));
    work.delivered().await;
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b101_a_connection_that_does_not_come_back_is_replaced_under_the_same_id_and_cancels_no_work() {
    let mut serving = Serving::begin();
    serving.looked_up(1).await;
    let slot = slot();
    let work = LocalWork::begin(&slot, 600);
    serving.monitor.disconnected();
    serving.registry().evict(ID);
    sleep(seconds(29)).await;
    assert_eq!(serving.status().rebuilds, 0);

    serving.until(|status| status.confirmed == 1).await;
    assert!(work.is_under_way());
    assert_eq!(serving.registry().entries(ID).len(), 1);
    assert!(serving.registry().log().iter().all(|happened| happened.id == ID));
    work.delivered().await;
    serving.is_sound();
}
