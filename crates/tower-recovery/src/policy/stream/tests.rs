use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NANOSECOND: Duration = Duration::from_nanos(1);
const WEEK: Duration = seconds::LONGEST;

fn builder() -> StreamPolicyBuilder {
    StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
}

fn refused(builder: StreamPolicyBuilder) -> String {
    builder.build().unwrap_err().to_string()
}

#[test]
fn the_defaults_are_those_of_the_record() {
    let policy = builder().build().unwrap();
    assert_eq!(policy.mode(), StreamMode::RetryOnHealthyProbe);
    assert_eq!((policy.idle(), policy.keep_alive_idle()), (900 * SECOND, 3600 * SECOND));
    assert_eq!((policy.probe_timeout(), policy.probe_interval(1)), (60 * SECOND, 300 * SECOND));
    assert_eq!((policy.recovery_grace(), policy.max_replacements()), (60 * SECOND, 1));
    assert_eq!(StreamPolicy::default(), StreamPolicy::builder(StreamMode::Disabled).build().unwrap());
}

#[test]
fn what_is_set_is_what_is_read() {
    let policy = builder()
        .idle(SECOND)
        .keep_alive_idle(2 * SECOND)
        .probe_timeout(3 * SECOND)
        .probe_interval(4 * SECOND)
        .recovery_grace(5 * SECOND)
        .max_replacements(6)
        .build()
        .unwrap();
    assert_eq!((policy.idle(), policy.keep_alive_idle()), (SECOND, 2 * SECOND));
    assert_eq!((policy.probe_timeout(), policy.probe_interval(1)), (3 * SECOND, 4 * SECOND));
    assert_eq!((policy.recovery_grace(), policy.max_replacements()), (5 * SECOND, 6));
}

#[test]
fn every_time_is_above_zero_and_a_week_at_the_most() {
    type Set = fn(StreamPolicyBuilder, Duration) -> StreamPolicyBuilder;
    let settings: [(&str, Set); 5] = [
        ("idle_seconds", StreamPolicyBuilder::idle),
        ("keep_alive_idle_seconds", StreamPolicyBuilder::keep_alive_idle),
        ("probe_timeout_seconds", StreamPolicyBuilder::probe_timeout),
        ("probe_interval_seconds", StreamPolicyBuilder::probe_interval),
        ("recovery_grace_seconds", StreamPolicyBuilder::recovery_grace),
    ];
    for (field, set) in settings {
        for (time, value) in [(Duration::ZERO, "0"), (WEEK + NANOSECOND, "604800.000000001"), (2 * WEEK, "1209600")] {
            let message = format!("{field} is {value}, but it must be above 0 and at most 604800");
            assert_eq!(refused(set(builder(), time)), message);
        }
        let shortest = if field == "keep_alive_idle_seconds" { 900 * SECOND + NANOSECOND } else { NANOSECOND };
        let longest = if field == "idle_seconds" { WEEK - NANOSECOND } else { WEEK };
        for time in [shortest, longest] {
            set(builder(), time).build().unwrap();
        }
    }
}

#[test]
fn a_stream_of_keep_alives_is_waited_for_longer_than_a_silent_one() {
    for limit in [SECOND, 2 * SECOND] {
        let message =
            format!("keep_alive_idle_seconds is {}, but it must be above the idle_seconds of 2", limit.as_secs());
        assert_eq!(refused(builder().idle(2 * SECOND).keep_alive_idle(limit)), message);
    }
    let set = builder().idle(2 * SECOND).keep_alive_idle(2 * SECOND + NANOSECOND).build().unwrap();
    assert_eq!(set.keep_alive_idle(), 2 * SECOND + NANOSECOND);
    assert_eq!(builder().idle(WEEK / 4).build().unwrap().keep_alive_idle(), WEEK);
    assert_eq!(builder().idle(WEEK - NANOSECOND).build().unwrap().keep_alive_idle(), WEEK);
    assert_eq!(
        refused(builder().idle(WEEK)),
        "idle_seconds is 604800, but it must be below the most that keep_alive_idle_seconds can be, 604800"
    );
}

#[test]
fn up_to_ten_replacements() {
    for replacements in [0, 10] {
        assert_eq!(builder().max_replacements(replacements).build().unwrap().max_replacements(), replacements);
    }
    for replacements in [11, u32::MAX] {
        let message = format!("max_replacements is {replacements}, but it must be from 0 to 10");
        assert_eq!(refused(builder().max_replacements(replacements)), message);
    }
}

#[test]
fn probes_come_half_as_often_each_round_and_a_sixteenth_as_often_in_the_end() {
    let policy = builder().probe_interval(SECOND).build().unwrap();
    let intervals = [0, 1, 2, 3, 4, 5, 6, u32::MAX].map(|round| policy.probe_interval(round).as_secs());
    assert_eq!(intervals, [1, 1, 2, 4, 8, 16, 16, 16]);
}

#[test]
fn a_replacement_waits_five_seconds_an_attempt_up_to_the_grace_and_chance_takes_up_to_half_of_it() {
    let policy = builder().recovery_grace(12 * SECOND).build().unwrap();
    let pauses = |chance| [1, 2, 3, u32::MAX].map(|attempt| policy.replacement_pause(attempt, chance).as_millis());
    assert_eq!(pauses(0.0), [5000, 10_000, 12_000, 12_000]);
    assert_eq!(pauses(1.0), [2500, 5000, 6000, 6000]);
    assert_eq!(pauses(-7.0), pauses(0.0), "chance is cut to its range");
    assert_eq!(pauses(7.0), pauses(1.0));
    assert_eq!(pauses(f64::NAN), pauses(0.0));
}
