//! What a probe may be set to.

use tokio::time::{Duration, sleep};
use tower_recovery::{
    InvalidSetting, LinearBackoff, RegistrationProbe,
    registration::{RegistrationProbeBuilder, RegistrationStatus},
};

use super::world::{Act, Answers, Asked, ID, INTERVAL, Registry, Serving, Worker, assert_apart, seconds};

type Builder = RegistrationProbeBuilder<Worker>;

fn built(settings: impl FnOnce(Builder) -> Builder) -> Result<RegistrationProbe<Worker>, InvalidSetting> {
    settings(RegistrationProbe::builder(Worker::new(&Registry::new(), ID))).build()
}

fn refused(settings: impl FnOnce(Builder) -> Builder) -> String {
    built(settings).unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn a_setting_out_of_its_bounds_is_refused_by_name_value_and_bound() {
    let week = seconds(7 * 24 * 60 * 60);
    let nanosecond = Duration::from_nanos(1);
    for interval in [Duration::ZERO, Duration::from_millis(10) - nanosecond, week + nanosecond, Duration::MAX] {
        let message = format!("interval is {interval:?}, but it must be from 10ms to 604800s");
        assert_eq!(refused(|builder| builder.interval(interval)), message);
    }
    let zero = |field| format!("{field} is 0ns, but it must be above zero");
    assert_eq!(refused(|builder| builder.look_up_timeout(Duration::ZERO)), zero("look_up_timeout"));
    assert_eq!(refused(|builder| builder.disconnect_grace(Duration::ZERO)), zero("disconnect_grace"));
    assert_eq!(refused(|builder| builder.close_timeout(Duration::ZERO)), zero("close_timeout"));
    assert_eq!(refused(|builder| builder.step_timeout(Duration::ZERO)), zero("step_timeout"));
    let backoff = |step, ceiling| refused(|builder| builder.backoff(LinearBackoff::new(step, ceiling)));
    let shortest = "it must be at least a thousandth of the interval, 60ms";
    assert_eq!(backoff(Duration::ZERO, seconds(1)), format!("backoff.step is 0ns, but {shortest}"));
    let millis = Duration::from_millis;
    assert_eq!(backoff(seconds(1), millis(59)), format!("backoff.ceiling is 59ms, but {shortest}"));
    let minute = "is 60.000000001s, but it must be at most 60s";
    let long = seconds(60) + nanosecond;
    assert_eq!(refused(|builder| builder.close_timeout(long)), format!("close_timeout {minute}"));
    assert_eq!(refused(|builder| builder.step_timeout(long)), format!("step_timeout {minute}"));
    assert_eq!(
        refused(|builder| builder.disconnect_grace(seconds(61))),
        "disconnect_grace is 61s, but it must be at most the interval of 60s"
    );
    for (timeout, spread) in [(10, 40), (10, 41), (20, 20), (30, 0)] {
        assert_eq!(
            refused(|builder| builder.look_up_timeout(seconds(timeout)).rebuild_spread(seconds(spread))),
            format!(
                "rebuild_spread is {:?}, but it must be shorter than the interval of 60s by more than two look-up timeouts of {timeout}s",
                seconds(spread)
            )
        );
    }
    assert!(refused(|builder| builder.look_up_timeout(Duration::MAX)).starts_with("rebuild_spread is 20s"));
    assert_eq!(
        refused(|builder| builder.unanswered_look_ups(0)),
        "unanswered_look_ups is 0, but it must be at least 1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_setting_at_its_bound_is_taken() {
    let week = seconds(7 * 24 * 60 * 60);
    for interval in [Duration::from_millis(10), INTERVAL, week] {
        let _probe = built(|builder| builder.interval(interval)).unwrap();
        let _probe = built(|builder| builder.interval(interval).disconnect_grace(interval)).unwrap();
    }
    let nanosecond = Duration::from_nanos(1);
    let _probe = built(|builder| builder.rebuild_spread(seconds(40) - nanosecond)).unwrap();
    let _probe = built(|builder| builder.rebuild_spread(Duration::ZERO)).unwrap();
    let minute = seconds(60);
    let _probe = built(|builder| builder.interval(seconds(1)).close_timeout(minute).step_timeout(minute)).unwrap();
    let _probe = built(|builder| builder.interval(week).close_timeout(week).step_timeout(week)).unwrap();
    let shortest = Duration::from_millis(60);
    let _probe = built(|builder| builder.backoff(LinearBackoff::new(shortest, shortest))).unwrap();
    let _probe = built(|builder| builder.backoff(LinearBackoff::new(Duration::MAX, Duration::MAX))).unwrap();
    let _probe = built(|builder| builder.unanswered_look_ups(u32::MAX).busy_look_ups(u32::MAX)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_times_that_are_not_set_follow_the_interval() {
    // An hour instead of a minute.
    for (interval, unit) in [(INTERVAL, 1), (INTERVAL * 60, 60)] {
        let mut serving = Serving::with(Worker::new(&Registry::new(), ID), |builder| builder.interval(interval));
        serving.healthy().await;
        serving.worker.next(Asked::LookUp, [Act::Hangs; 2]);
        serving.worker.next(Asked::Close, [Act::Hangs; 2]);
        serving.worker.next(Asked::Connect, [Act::Hangs]);
        serving.until(|status| status.confirmed == 1).await;

        let registry = serving.registry();
        let looked_up = registry.times(Asked::LookUp);
        let (closed, connected) = (registry.times(Asked::Close)[0], registry.times(Asked::Connect));
        let spread = looked_up[2] - looked_up[1] - seconds(10) * unit;
        assert!(spread <= seconds(20) * unit, "{spread:?}");
        assert_eq!((closed - looked_up[2]).as_millis(), (seconds(10) * unit).as_millis(), "the look-up's bound");
        assert_eq!((connected[0] - closed).as_millis(), (seconds(5) * unit).as_millis(), "the close's bound");
        let pause = connected[1] - connected[0] - seconds(10) * unit;
        assert!(pause <= seconds(1) * unit && pause * 2 >= seconds(1) * unit, "{pause:?} after the step's bound");
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn steps_that_fail_are_tried_again_within_the_interval_less_and_less_often() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().evict(ID);
    serving.worker.next(Asked::Connect, [Act::Fails("connection refused"); 100]);
    serving.until(|status| status.rebuilds == 2).await;

    let rebuilds = serving.rebuilds();
    let tries: Vec<_> = serving.registry().times(Asked::Connect).into_iter().filter(|at| *at < rebuilds[1]).collect();
    assert!((5..=20).contains(&tries.len()), "{} tries in an interval", tries.len());
    for (number, pair) in (1..).zip(tries.windows(2)) {
        let (pause, whole) = (pair[1] - pair[0], seconds(number).min(seconds(15)));
        // With the look-up before each of them, of 10 ms, and the tick of a timer.
        let longest = whole + Duration::from_millis(11);
        assert!(pause * 2 >= whole && pause <= longest, "the {number}th: {pause:?}");
    }
    assert_apart(&rebuilds, INTERVAL);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_good_is_not_tried_again_within_the_interval() {
    for step in [Asked::Connect, Asked::Register] {
        let mut serving = Serving::begin();
        serving.healthy().await;
        serving.registry().evict(ID);
        serving.worker.next(step, [Act::FailsForGood("wrong workspace"); 5]);
        let status = serving.until(|status| status.confirmed == 1).await;
        assert_eq!((status.rebuilds, serving.registry().count(step)), (6, 6), "once a rebuild");
        assert_apart(&serving.registry().times(step), INTERVAL - seconds(1));
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_connection_excuses_three_look_ups_in_a_row_and_no_more() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    let heard = serving.worker.clone();
    let hearing = tokio::spawn(async move {
        loop {
            sleep(seconds(1)).await;
            heard.hears();
        }
    });
    for busy in [3, 3] {
        serving.worker.next(Asked::LookUp, [Act::Hangs; 3]);
        let status = serving.looked_up(busy + 1).await;
        assert!(status.is_registered());
        assert_eq!(status.flaps, 0);
    }
    serving.worker.next(Asked::LookUp, [Act::Hangs; 5]);
    assert_eq!(serving.looked_up(3).await.flaps, 0);
    assert_eq!(serving.looked_up(1).await.flaps, 1);
    let status = serving.until(|status| status.confirmed == 1).await;
    assert_eq!(status.rebuilds, 1);
    serving.is_sound();
    hearing.abort();
}

#[tokio::test(start_paused = true)]
async fn without_a_spread_a_rebuild_follows_at_once() {
    let mut serving =
        Serving::with(Worker::new(&Registry::new(), ID), |builder| builder.rebuild_spread(Duration::ZERO));
    serving.healthy().await;
    serving.registry().answers(Answers::Nobody);
    serving.until(|status| status.rebuilds == 1).await;
    serving.registry().answers(Answers::Truly);
    let looked_up = serving.registry().count(Asked::LookUp);
    assert_eq!(looked_up, 2, "nothing has passed that would have to be asked for again");
    serving.until(RegistrationStatus::is_registered).await;
    serving.is_sound();
}
