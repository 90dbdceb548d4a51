//! The moments at which something becomes due, to the nanosecond: [`Stream::due_at`] looks just before and at each.

use super::*;

#[test]
fn time_begins_when_a_stream_is_waited_for() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    let policy =
        StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).build().expect("the defaults are within bounds");
    stream.machine = Supervision::new(policy, true, stream.called);
    assert!(stream.machine.is_new());
    assert_eq!((stream.machine.deadline(), stream.at(5000).due()), (None, None));
    stream.machine.started(stream.now);
    assert!(!stream.machine.is_new());
    assert_eq!(stream.due_at(5000 + 900), probe(1));
}

#[test]
fn a_stream_without_a_sign_is_silent_at_idle_and_each_sign_puts_that_off() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    stream.at(899).sign(Sign::KeepAlive);
    stream.at(1500).sign(Sign::Content);
    assert_eq!(stream.due_at(1500 + 900), probe(1));
}

#[test]
fn a_stream_of_keep_alives_is_silent_at_its_larger_ceiling_since_the_last_content() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    stream.at(500).sign(Sign::Content);
    for second in (1000..4100).step_by(500) {
        stream.at(second).sign(Sign::KeepAlive);
    }
    assert_eq!(stream.due_at(500 + 3600), probe(1));
}

#[test]
fn where_both_ceilings_are_reached_in_one_moment_a_keep_alive_is_a_sign_of_life() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    for second in (900..=2700).step_by(900) {
        stream.at(second - 1).sign(Sign::KeepAlive);
    }
    stream.at(2700).sign(Sign::KeepAlive);
    assert_eq!(stream.due_at(3600), probe(1));
    assert_eq!(stream.sign(Sign::KeepAlive), Some(Order::CancelProbe));
    assert_eq!(stream.due_at(3600), probe(1), "and at once it is silent for want of content");
    assert_eq!(stream.sign(Sign::KeepAlive), None);
}

#[test]
fn a_sign_at_the_very_deadline_comes_in_time_if_it_is_told_first() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    assert_eq!(stream.at(900).sign(Sign::KeepAlive), None);
    assert_eq!(stream.due(), None);
    assert_eq!(stream.due_at(1800), probe(1));
    assert_eq!(stream.probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.at(1860).sign(Sign::KeepAlive), None, "the grace was over, and nobody had acted on it");
    assert_eq!(stream.due_at(1860 + 900), probe(1));
}

#[test]
fn a_probe_has_its_whole_time_and_so_has_the_grace() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.due_at(960), Some(Order::TimeOutProbe));
    assert_eq!(stream.probed(Probed::Healthy), Some(Order::StartGrace), "if the answer is told first, it counts");
    assert_eq!(stream.due_at(1020), Some(FOR_SILENCE));
}

#[test]
fn a_grace_counts_from_when_the_answer_was_told() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    assert_eq!(stream.at(5000).due(), probe(1), "asked late, as after a pause of the machine");
    assert_eq!(stream.at(9000).probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.due_at(9060), Some(FOR_SILENCE));
}

#[test]
fn probes_come_at_intervals_that_double_up_to_sixteen_times_counted_from_the_start_of_each() {
    let mut stream = Stream::new(StreamMode::Preserve, 1);
    let mut second = 900;
    for (round, interval) in (1..).zip([300, 600, 1200, 2400, 4800, 4800, 4800]) {
        assert_eq!(stream.due_at(second), probe(round));
        let preserve = Some(Order::Preserve(PreservedBecause::Mode));
        assert_eq!(stream.at(second + 59).probed(Probed::Healthy), preserve);
        second += interval;
    }
    assert_eq!(stream.at(second).sign(Sign::Content), None);
    assert_eq!(stream.due_at(second + 900), probe(1), "the next silence begins anew");
    assert_eq!(stream.probed(Probed::Unanswered), None);
    assert_eq!(stream.due_at(second + 900 + 300), probe(2));
}

#[test]
fn a_probe_that_outlasts_its_interval_is_followed_at_once_by_the_next_one() {
    let policy = StreamPolicy::builder(StreamMode::Preserve).probe_interval(Duration::from_secs(10));
    let mut stream = Stream::of(policy, true);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.due_at(960), Some(Order::TimeOutProbe));
    assert_eq!(stream.probed(Probed::Unanswered), None);
    assert_eq!(stream.due(), probe(2));
    assert_eq!(stream.due_at(1020), Some(Order::TimeOutProbe));
}

#[test]
fn a_replacement_starts_after_five_seconds_an_attempt_with_a_life_of_its_own() {
    let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).max_replacements(3);
    let mut stream = Stream::of(policy.recovery_grace(Duration::from_secs(12)), true);
    for (attempt, pause) in (1..).zip([5, 10, 12]) {
        assert_eq!(stream.machine.attempt(), attempt);
        assert_eq!(stream.dropped(), FOR_A_FAILURE);
        assert_eq!(stream.machine.clone().replaced(1.0), Duration::from_secs(pause) / 2);
        let ended = stream.now;
        stream.replaced();
        assert_eq!(stream.now - ended, Duration::from_secs(pause));
        assert_eq!(stream.machine.last_sign(), stream.now);
    }
    assert_eq!(stream.due_at(27 + 900), probe(1));
    assert_eq!(stream.probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.due_at(27 + 912), Some(Order::End(StreamEnd::Silent, NotReplaced::Spent)));
}

#[test]
fn between_two_attempts_nothing_is_due() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    stream.dropped();
    stream.machine.replaced(0.0);
    assert_eq!((stream.machine.deadline(), stream.is_silent()), (None, false));
    assert_eq!(stream.at(1_000_000).due(), None);
}
