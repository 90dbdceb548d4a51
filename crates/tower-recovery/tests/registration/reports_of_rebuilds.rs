//! Failures that others reported in public, each by its number: rebuilds for nothing, rebuilds that did not help, and work that was taken for death.

use tokio::time::{Instant, sleep};
use tower_recovery::{RecoveryEvent, registration::RebuildStep};

use super::world::{
    Act, Asked, Entry, ID, INTERVAL, LocalWork, Registry, SPREAD, Serving, What, Worker, seconds, slot,
};

// aicell-lab/bioengine@ae4833a
#[tokio::test(start_paused = true)]
async fn b91_one_or_two_late_answers_rebuild_nothing_and_a_good_one_starts_the_count_anew() {
    let worker = Worker::new(&Registry::new(), ID);
    let mut serving = Serving::with(worker, |builder| builder.unanswered_look_ups(3));
    serving.healthy().await;
    for late in [1, 2, 2, 1, 2] {
        serving.worker.next(Asked::LookUp, vec![Act::Hangs; late]);
        let status = serving.looked_up(late as u64 + 1).await;
        assert!(status.is_registered());
        assert_eq!((status.rebuilds, status.flaps), (0, 0));
    }
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b91_the_third_late_answer_releases_the_old_registration_before_it_makes_a_new_one() {
    let worker = Worker::new(&Registry::new(), ID);
    let mut serving = Serving::with(worker, |builder| builder.unanswered_look_ups(3).close_timeout(seconds(2)));
    serving.healthy().await;
    let old = serving.registry().open(ID).unwrap();
    // Three that are due, and the one after the spread. The close hangs as well.
    serving.worker.next(Asked::LookUp, [Act::Hangs; 4]);
    serving.worker.next(Asked::Close, [Act::Hangs]);
    let status = serving.looked_up(2).await;
    assert!(status.is_registered(), "two are not enough");

    let status = serving.until(|status| status.confirmed == 1).await;
    assert_eq!((status.rebuilds, status.flaps), (1, 1));
    let steps: Vec<_> =
        [Asked::Close, Asked::Connect, Asked::Register].map(|asked| serving.registry().times(asked)).into();
    assert_eq!(steps.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1], "one new registration, and no second try");
    assert_eq!((steps[1][0] - steps[0][0]).as_millis(), 2_000, "the close is waited for, up to its bound");
    let log = serving.registry().log();
    let freed = log.iter().position(|happened| happened.what == What::Freed(old));
    let connecting = log.iter().position(|happened| happened.what == What::Began(Asked::Connect, None));
    assert!(freed < connecting);

    serving.worker.next(Asked::LookUp, [Act::Hangs; 2]);
    assert_eq!(serving.looked_up(3).await.rebuilds, 1, "the count began anew");
    serving.is_sound();
}

// aicell-lab/bioengine@0ee7d39, @4c9e585, @718f030
#[tokio::test(start_paused = true)]
async fn b92_a_process_whose_only_slot_is_busy_keeps_its_registration() {
    let slot = slot();
    let worker = Worker::new(&Registry::new(), ID).in_band(&slot);
    let mut serving = Serving::with(worker, |builder| builder.look_up_timeout(seconds(3)));
    serving.healthy().await;
    let entries = serving.registry().entries(ID);
    let work = LocalWork::of(&serving.worker, &slot, 10);
    serving.monitor.own_eviction_seen();

    let asked = Instant::now();
    let status = serving.looked_up(1).await;
    assert!(asked.elapsed() >= seconds(3), "the look-up stood behind the work, and ran out of time");
    assert!(status.is_registered());
    work.delivered().await;
    let status = serving.looked_up(10).await;
    assert!(status.is_registered());
    assert_eq!((status.rebuilds, status.flaps), (0, 0));
    assert_eq!(serving.registry().entries(ID), entries);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b92_an_error_on_a_busy_connection_is_acted_upon() {
    let slot = slot();
    let mut serving = Serving::of(Worker::new(&Registry::new(), ID).in_band(&slot));
    serving.healthy().await;
    // The connection is heard of while the look-up waits for the slot, and then the look-up fails.
    let work = LocalWork::of(&serving.worker, &slot, 9);
    serving.worker.next(Asked::LookUp, [Act::Fails("handler raised"); 2]);
    serving.monitor.own_eviction_seen();
    work.delivered().await;

    let status = serving.looked_up(1).await;
    assert_eq!(status.flaps, 1);
    let status = serving.until(|status| status.confirmed == 1).await;
    assert_eq!((status.rebuilds, status.flaps), (1, 1));
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b92_a_process_that_is_gone_and_then_busy_is_registered_again_within_an_interval_and_the_spread() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let worker = serving.worker.clone();
    let hearing = tokio::spawn(async move {
        loop {
            sleep(seconds(1)).await;
            worker.hears();
        }
    });
    serving.registry().evict(ID);
    let lost = Instant::now();
    // The registry says no; and then the look-up stands behind the work, again and again.
    serving.failing().await;
    serving.worker.next(Asked::LookUp, [Act::Hangs]);
    serving.until(|status| status.confirmed == 1).await;
    assert!(lost.elapsed() <= INTERVAL + SPREAD + seconds(10 + 1), "{:?}", lost.elapsed());
    hearing.abort();
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b92_a_silent_connection_that_gives_no_answer_is_acted_upon() {
    let slot = slot();
    let worker = Worker::new(&Registry::new(), ID).in_band(&slot);
    let mut serving = Serving::of(worker);
    serving.healthy().await;
    // It works, but nothing is heard of it over this connection.
    serving.worker.hears();
    let work = LocalWork::begin(&slot, 600);

    let status = serving.failing().await;
    assert_eq!((status.flaps, work.is_under_way()), (1, true));
    serving.until(|status| status.rebuilds == 1).await;
    work.delivered().await;
    serving.healthy().await;
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn b92_a_look_up_on_a_lane_of_its_own_takes_no_work_slot() {
    let slot = slot();
    let mut serving = Serving::begin();
    let work = LocalWork::of(&serving.worker, &slot, 600);
    assert_eq!(slot.available_permits(), 0);
    let status = serving.looked_up(5).await;
    assert!(status.is_registered());
    assert!(work.is_under_way(), "they were answered while the slot was taken");
    work.delivered().await;
}

// oeway/hypha-rpc@235ebcf (#158)
#[tokio::test(start_paused = true)]
async fn b94_a_rebuild_is_done_when_the_registry_shows_it_and_not_before() {
    let registry = Registry::new();
    let mut fleet = ["a", "b", "c"].map(|id| Serving::of(Worker::new(&registry, id)));
    for serving in &mut fleet {
        serving.healthy().await;
    }
    for serving in &fleet {
        serving.worker.next(Asked::Register, [Act::Hangs]);
        registry.evict(serving.worker.id);
    }
    for serving in &mut fleet {
        let failed = |event: &RecoveryEvent| {
            matches!(event, RecoveryEvent::RegistrationStepFailed { step: RebuildStep::Register, .. })
        };
        serving.until(|status| status.rebuilds == 1).await;
        let began = Instant::now();
        while serving.events.times(failed).is_empty() {
            assert!(began.elapsed() < INTERVAL);
            assert!(serving.status().failing_since().is_some(), "degraded all the while, and not dead");
            assert_eq!(serving.status().confirmed, 0);
            sleep(seconds(1)).await;
        }
        let status = serving.healthy().await;
        assert_eq!((status.rebuilds, status.confirmed, status.flaps), (1, 1, 1), "again within the same rebuild");
        let [Entry::Owner { connection, .. }] = registry.entries(serving.worker.id)[..] else { panic!("one entry") };
        assert_eq!(registry.open(serving.worker.id), Some(connection), "of this generation");
        serving.is_sound();
    }
    assert_eq!([Asked::Connect, Asked::Register].map(|asked| registry.count(asked)), [6, 6]);
}

#[tokio::test(start_paused = true)]
async fn b94_a_registration_that_is_reported_as_done_and_was_not_is_no_success() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().evict(ID);
    serving.worker.next(Asked::Register, [Act::Pretends]);
    serving.until(|status| status.rebuilds == 1).await;
    // That it is lost, that it still is, and that the rebuild did not help.
    serving.until(|status| status.look_ups == 4).await;

    let status = serving.status();
    assert!(status.failing_since().is_some());
    assert_eq!((status.rebuilds, status.confirmed), (1, 0));
    let unconfirmed =
        |event: &RecoveryEvent| matches!(event, RecoveryEvent::RegistrationRebuilt { confirmed: false, .. });
    assert_eq!(serving.events.times(unconfirmed).len(), 1);
    let status = serving.healthy().await;
    assert_eq!((status.rebuilds, status.confirmed, status.flaps), (2, 1, 1));
    let [first, second] = serving.rebuilds()[..] else { panic!("two rebuilds") };
    assert!(second - first >= INTERVAL && second - first <= INTERVAL + SPREAD + seconds(1));
    serving.is_sound();
}
