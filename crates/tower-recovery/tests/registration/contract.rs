//! What a probe owes to whoever runs it and to whoever watches.

use tokio::time::{Instant, sleep, timeout};
use tokio_test::{assert_pending, task};
use tower_recovery::{
    RegistrationProbe,
    registration::{OwnEvictionWatch, RegistrationHealth, RegistrationMonitor},
};

use super::world::{
    Act, Answers, Asked, ID, INTERVAL, LATENCY, Registry, SPREAD, Serving, Worker, assert_apart, seconds,
};

#[test]
fn probe_and_monitor_go_to_any_task() {
    fn goes<Value: Send + 'static>() {}
    fn is_shared<Value: Send + Sync + Clone + 'static>() {}
    goes::<RegistrationProbe<Worker>>();
    is_shared::<RegistrationMonitor>();
    is_shared::<OwnEvictionWatch<(), fn(&(dyn std::error::Error + 'static)) -> bool>>();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_known_before_the_first_look_up() {
    let serving = Serving::begin();
    let status = serving.status();
    assert_eq!(status.health, RegistrationHealth::Unseen);
    assert!(!status.is_registered() && status.failing_since().is_none());
    assert_eq!((status.look_ups, status.rebuilds, status.confirmed, status.flaps), (0, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_first_look_up_comes_at_some_moment_of_the_first_interval() {
    let mut moments = Vec::new();
    for seed in 0..100 {
        fastrand::seed(seed);
        let began = Instant::now();
        let mut serving = Serving::begin();
        serving.looked_up(1).await;
        moments.push(serving.registry().times(Asked::LookUp)[0] - began);
    }
    assert!(moments.iter().all(|moment| *moment <= INTERVAL), "{moments:?}");
    for quarter in 0..4 {
        let within = INTERVAL / 4 * quarter..INTERVAL / 4 * (quarter + 1);
        let number = moments.iter().filter(|moment| within.contains(*moment)).count();
        assert!((10..=40).contains(&number), "{number} of a hundred within {within:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_starts_without_a_connection_is_registered_at_once() {
    let began = Instant::now();
    let mut serving = Serving::starting(Worker::new(&Registry::new(), ID), |builder| builder);
    let status = serving.healthy().await;
    assert!(began.elapsed() < LATENCY * 6, "{:?}", began.elapsed());
    assert_eq!((status.rebuilds, status.confirmed), (1, 1));
    assert_eq!([Asked::Close, Asked::Connect, Asked::Register].map(|asked| serving.registry().count(asked)), [0, 1, 1]);
    serving.looked_up(10).await;
    assert_eq!(serving.status().rebuilds, 1);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn a_process_that_starts_while_the_registry_is_down_is_registered_when_it_is_back() {
    let worker = Worker::new(&Registry::new(), ID);
    worker.registry.answers(Answers::Down);
    let mut serving = Serving::starting(worker, |builder| builder);
    sleep(seconds(300)).await;
    serving.is_sound();
    assert_apart(&serving.rebuilds(), INTERVAL);
    serving.registry().answers(Answers::Truly);
    let back = Instant::now();
    serving.healthy().await;
    assert!(back.elapsed() <= INTERVAL + SPREAD + seconds(1));
    assert_eq!(serving.status().flaps, 0, "nothing was lost");
}

#[tokio::test(start_paused = true)]
async fn what_the_registry_holds_of_a_closed_connection_is_not_taken_for_ours() {
    let worker = Worker::new(&Registry::new(), ID);
    drop(worker.registered());
    assert_eq!(worker.registry.entries(ID).len(), 1, "left behind");
    let mut serving = Serving::starting(worker, |builder| builder);
    let status = serving.healthy().await;
    assert_eq!((status.rebuilds, status.confirmed), (1, 1));
    assert_eq!(serving.registry().entries(ID).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_nothing_is_taken_for_ours_whatever_a_look_up_says() {
    let worker = Worker::new(&Registry::new(), ID);
    worker.next(Asked::LookUp, [Act::TakesForOurs; 10]);
    let mut serving = Serving::starting(worker, |builder| builder);
    let status = serving.looked_up(2).await;
    assert_eq!((status.rebuilds, status.confirmed), (1, 1), "registered, and then believed");
    assert!(serving.registry().open(ID).is_some());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_ends_the_probe_and_drops_the_connection() {
    // While it waits, and in the middle of each step.
    for step in [None, Some(Asked::LookUp), Some(Asked::Close), Some(Asked::Connect), Some(Asked::Register)] {
        let mut serving = Serving::begin();
        serving.healthy().await;
        if let Some(step) = step {
            serving.registry().evict(ID);
            serving.worker.next(step, [Act::Hangs]);
            serving.registry().begins(step).await;
        }
        serving.probing.abort();
        assert!((&mut serving.probing).await.unwrap_err().is_cancelled());

        assert_eq!(serving.registry().open(ID), None, "{step:?}");
        let asked = serving.registry().log().len();
        sleep(INTERVAL * 10).await;
        assert_eq!(serving.registry().log().len(), asked, "and nothing puts it back");
        assert_eq!(serving.registry().faults(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_ran_drops_its_connection_too() {
    let worker = Worker::new(&Registry::new(), ID);
    let probe = RegistrationProbe::builder(worker.clone()).connection(worker.registered()).build().unwrap();
    let unpolled = probe.run();
    drop(unpolled);
    assert_eq!(worker.registry.open(ID), None);
}

#[tokio::test(start_paused = true)]
async fn a_monitor_sees_each_change_and_is_told_when_the_probe_is_gone() {
    let mut serving = Serving::begin();
    let mut monitor = serving.monitor.clone();
    let mut changed = task::spawn(async move {
        let status = monitor.changed().await;
        (monitor, status)
    });
    assert_pending!(changed.poll());
    serving.healthy().await;
    assert!(changed.is_woken());
    let (mut monitor, status) = changed.await;
    assert_eq!(status, Some(serving.status()));

    assert!(timeout(seconds(1), monitor.changed()).await.is_err(), "it was seen");
    let mut waiting = monitor.clone();
    let waiting = tokio::spawn(async move { waiting.wait_until(|status| status.rebuilds > 0).await });
    let last = serving.status();
    serving.probing.abort();
    assert_eq!(waiting.await.unwrap(), None);
    assert_eq!(monitor.changed().await, None);
    assert_eq!(monitor.status(), last, "what the probe knew last");
    // Nobody hears of it any more.
    monitor.disconnected();
    monitor.own_eviction_seen();
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_what_is_so_already_ends_at_once() {
    let mut serving = Serving::begin();
    let began = Instant::now();
    serving.until(|status| status.look_ups == 0).await;
    assert_eq!(Instant::now(), began);
}

#[tokio::test(start_paused = true)]
async fn an_episode_is_dated_from_its_first_look_up() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().answers(Answers::Down);
    let status = serving.failing().await;
    let since = status.failing_since().unwrap();
    assert_eq!(since, Instant::now());
    let status = serving.until(|status| status.rebuilds == 4).await;
    assert_eq!((status.failing_since(), status.flaps), (Some(since), 1));
    serving.registry().answers(Answers::Truly);
    assert_eq!(serving.healthy().await.failing_since(), None);

    serving.registry().evict(ID);
    assert_eq!(serving.failing().await.flaps, 2, "another episode");
}
