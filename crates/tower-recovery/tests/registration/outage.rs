//! The outages of the origin: a registry that serves nothing for some 200 s and then heals by itself, and pauses of everything.

use tokio::time::{Duration, Instant, advance, sleep};
use tower_recovery::RecoveryEvent;

use super::world::{
    Act, Answers, Asked, ID, INTERVAL, LATENCY, LocalWork, Registry, SPREAD, Serving, Worker, assert_apart, seconds,
    slot,
};

const OUTAGE: Duration = Duration::from_secs(222);

fn recoveries(serving: &Serving) -> Vec<Instant> {
    serving.events.times(|event| matches!(event, RecoveryEvent::RegistrationRecovered { .. }))
}

/// One 500, and 404 from then on: to whoever looks, and as seen by a sampler every 30 s.
async fn outage(registry: &Registry) {
    registry.answers(Answers::Down);
    sleep(seconds(30)).await;
    registry.answers(Answers::Nobody);
    sleep(OUTAGE - seconds(30)).await;
    registry.answers(Answers::Truly);
}

#[tokio::test(start_paused = true)]
async fn an_outage_costs_at_most_a_rebuild_an_interval_and_is_over_at_the_first_good_look_up() {
    for (interval, seed) in [30, 60].into_iter().flat_map(|interval| (0..20).map(move |seed| (seconds(interval), seed)))
    {
        fastrand::seed(seed);
        let mut serving = Serving::with(Worker::new(&Registry::new(), ID), |builder| builder.interval(interval));
        serving.healthy().await;
        let slot = slot();
        let work = LocalWork::begin(&slot, 600);
        let began = Instant::now();
        outage(serving.registry()).await;
        let ended = Instant::now();
        serving.is_sound();
        assert!(work.is_under_way());
        let rebuilds = serving.rebuilds();
        assert_apart(&rebuilds, interval);
        assert!(!rebuilds.is_empty() && rebuilds[0] > began);

        serving.healthy().await;
        // A look-up is answered by what the registry holds at its end.
        let looked_up = serving.registry().times(Asked::LookUp);
        let good = *looked_up.iter().find(|at| **at + LATENCY >= ended).unwrap();
        let [recovered] = recoveries(&serving)[..] else { panic!("recovered once") };
        assert!(recovered - good < LATENCY * 2, "seed {seed}: {:?} after the first good look-up", recovered - good);
        assert!(good - ended <= interval);
        assert_eq!(serving.status().flaps, 1, "one episode");
        assert_eq!(serving.rebuilds().len(), rebuilds.len(), "what has healed is left alone");
        work.delivered().await;
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn a_sampler_of_seven_misses_in_a_row_is_an_outage_and_not_an_end() {
    for interval in [seconds(30), seconds(60)] {
        let mut serving = Serving::with(Worker::new(&Registry::new(), ID), |builder| builder.interval(interval));
        serving.healthy().await;
        serving.worker.next(Asked::LookUp, [Act::Fails("500 Internal Server Error")]);
        serving.worker.next(Asked::LookUp, [Act::Pretends; 6]);

        let status = serving.looked_up(8).await;
        assert!(status.is_registered(), "the first good answer ends it");
        assert_eq!(status.flaps, 1);
        assert_apart(&serving.rebuilds(), interval);
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_in_which_nobody_can_connect_ends_with_one_rebuild() {
    for (interval, seed) in [30, 60].into_iter().flat_map(|interval| (0..10).map(move |seed| (seconds(interval), seed)))
    {
        fastrand::seed(seed);
        let mut serving = Serving::with(Worker::new(&Registry::new(), ID), |builder| builder.interval(interval));
        serving.healthy().await;
        serving.registry().answers(Answers::Down);
        serving.registry().evict(ID);
        sleep(OUTAGE).await;
        let during = serving.status();
        serving.registry().answers(Answers::Truly);
        let ended = Instant::now();

        let status = serving.healthy().await;
        assert!(ended.elapsed() <= interval + interval / 3 + seconds(1), "{:?}", ended.elapsed());
        assert_eq!((during.confirmed, status.confirmed, status.flaps), (0, 1, 1));
        assert!(status.rebuilds - during.rebuilds <= 1, "at the most one that had not begun before");
        assert_apart(&serving.rebuilds(), interval);
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_paused_for_minutes_and_forgets_us_meanwhile_is_outlived() {
    for pause in (150..=260).step_by(10).map(seconds) {
        fastrand::seed(pause.as_secs());
        let mut serving = Serving::begin();
        serving.healthy().await;
        let slot = slot();
        let work = LocalWork::begin(&slot, 900);
        // Look-ups run out of time, closing too, and connecting hangs.
        serving.registry().pause();
        sleep(pause).await;
        serving.registry().evict(ID);
        assert!(work.is_under_way());
        assert_apart(&serving.rebuilds(), INTERVAL);
        serving.registry().resume();
        let resumed = Instant::now();

        serving.looked_up(1).await;
        let status = serving.healthy().await;
        assert!(resumed.elapsed() <= INTERVAL + SPREAD + seconds(1), "{pause:?}: {:?}", resumed.elapsed());
        assert_eq!((serving.registry().entries(ID).len(), status.flaps), (1, 1), "{pause:?}");
        assert_apart(&serving.rebuilds(), INTERVAL);
        work.delivered().await;
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_paused_for_minutes_finds_out_and_catches_nothing_up() {
    for pause in (150..=260).step_by(10).map(seconds) {
        fastrand::seed(pause.as_secs());
        let mut serving = Serving::begin();
        serving.healthy().await;
        serving.registry().evict(ID);
        // Nothing of the process runs while the clock does.
        advance(pause).await;
        let thawed = Instant::now();

        let status = serving.until(|status| status.confirmed == 1).await;
        assert!(thawed.elapsed() <= SPREAD + seconds(1));
        assert_eq!((status.rebuilds, status.flaps), (1, 1));
        serving.looked_up(5).await;
        assert_apart(&serving.registry().times(Asked::LookUp)[4..], INTERVAL);
        serving.is_sound();
    }
}
