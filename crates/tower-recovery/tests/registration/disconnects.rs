//! Connections that end: what that tells the probe, and what it does not.

use tokio::time::{Duration, Instant, sleep};

use super::world::{Act, Asked, ID, INTERVAL, LATENCY, SPREAD, Serving, asked_after, just_looked_up, seconds};

/// The grace that follows from the interval.
const GRACE: Duration = Duration::from_secs(30);
/// The least time between look-ups that are asked for.
const FLOOR: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_has_the_registry_asked_after_the_grace() {
    for after in [1, 10, 29] {
        let mut serving = just_looked_up().await;
        sleep(seconds(after)).await;
        let ended = Instant::now();
        serving.monitor.disconnected();
        assert_eq!(asked_after(&mut serving, ended).await, GRACE, "sooner than it was due");
    }
    for after in [31, 45, 59] {
        let mut serving = just_looked_up().await;
        sleep(seconds(after)).await;
        let ended = Instant::now();
        serving.monitor.disconnected();
        assert_eq!(asked_after(&mut serving, ended).await, GRACE, "later than it was due");
    }
}

#[tokio::test(start_paused = true)]
async fn however_often_a_connection_ends_the_look_up_moves_by_a_grace_at_the_most() {
    let mut serving = just_looked_up().await;
    let monitor = serving.monitor.clone();
    let ending = tokio::spawn(async move {
        loop {
            monitor.disconnected();
            sleep(seconds(1)).await;
        }
    });
    let before = serving.registry().times(Asked::LookUp).len();
    sleep(INTERVAL * 100).await;
    let times = serving.registry().times(Asked::LookUp);
    assert!(times[before..].windows(2).all(|pair| pair[1] - pair[0] <= INTERVAL + GRACE));
    assert!((66..=67).contains(&(times.len() - before)), "{}", times.len() - before);
    assert_eq!(serving.status().rebuilds, 0);

    // And it hides no loss: one look-up may be excused, and the one after it is moved by a grace as well.
    serving.registry().evict(ID);
    let lost = Instant::now();
    serving.until(|status| status.confirmed == 1).await;
    assert!(lost.elapsed() <= INTERVAL + GRACE * 3 + SPREAD + seconds(1), "{:?}", lost.elapsed());
    serving.is_sound();
    ending.abort();
}

#[tokio::test(start_paused = true)]
async fn the_first_look_up_is_moved_by_a_grace_at_the_most_too() {
    for seed in 0..20 {
        fastrand::seed(seed);
        let began = Instant::now();
        let mut undisturbed = Serving::begin();
        undisturbed.looked_up(1).await;
        let unmoved = undisturbed.registry().times(Asked::LookUp)[0] - began;

        fastrand::seed(seed);
        let began = Instant::now();
        let mut serving = Serving::begin();
        let monitor = serving.monitor.clone();
        let ending = tokio::spawn(async move {
            loop {
                monitor.disconnected();
                sleep(seconds(1)).await;
            }
        });
        serving.looked_up(1).await;
        let moved = serving.registry().times(Asked::LookUp)[0] - began;
        assert!(moved <= unmoved + GRACE + Duration::from_millis(1), "seed {seed}: from {unmoved:?} to {moved:?}");
        ending.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_during_a_look_up_excuses_it_once() {
    let mut serving = just_looked_up().await;
    let monitor = serving.monitor.clone();
    let registry = serving.registry().clone();
    // It ends at every look-up.
    let ending = tokio::spawn(async move {
        loop {
            registry.begins(Asked::LookUp).await;
            monitor.disconnected();
        }
    });
    serving.registry().evict(ID);
    let status = serving.looked_up(1).await;
    assert!(status.is_registered(), "it may be the connection's end, and no more");
    let excused = Instant::now();
    assert_eq!(asked_after(&mut serving, excused).await, GRACE);
    assert!(serving.status().failing_since().is_some(), "the second time in a row it is not");
    serving.until(|status| status.confirmed == 1).await;
    serving.is_sound();
    ending.abort();
}

#[tokio::test(start_paused = true)]
async fn what_is_noticed_during_a_rebuild_is_what_the_rebuild_does() {
    let mut serving = just_looked_up().await;
    serving.registry().evict(ID);
    serving.worker.next(Asked::Connect, [Act::Fails("connection refused"); 3]);
    serving.until(|status| status.rebuilds == 1).await;
    let began = Instant::now();
    while serving.status().confirmed == 0 {
        assert!(began.elapsed() < INTERVAL);
        serving.monitor.disconnected();
        serving.monitor.own_eviction_seen();
        sleep(LATENCY).await;
    }
    let confirmed = Instant::now();
    assert!(asked_after(&mut serving, confirmed).await > FLOOR - LATENCY, "not at once");
    serving.is_sound();
}
