//! The steps of a rebuild, how they are tried again, and how often it begins.

use super::*;

#[test]
fn a_rebuild_closes_connects_registers_and_asks_again() {
    let mut run = Run::rebuilding(TIMES);
    run.schedule.closed();
    run.orders(secs(5), Connect);
    run.ends(Done, secs(6));
    run.orders(secs(6), Register);
    run.ends(Done, secs(7));
    run.orders(secs(7), LookUp);
}

#[test]
fn a_step_that_fails_is_tried_again_from_the_close_on_after_a_growing_pause() {
    let mut run = Run::rebuilding(TIMES);
    run.schedule.closed();
    run.orders(secs(1), Connect);
    run.ends(Failed, secs(2));
    // A second, and two.
    run.tries_again(secs(3), 2);
    run.schedule.closed();
    run.orders(secs(3), Connect);
    run.ends(Done, secs(3));
    run.orders(secs(3), Register);
    run.ends(Failed, secs(4));
    run.tries_again(secs(6), 3);
    run.reconnects(secs(6), 3);
    run.orders(secs(6), Register);
    run.ends(Done, secs(6));
    run.orders(secs(6), LookUp);
    assert_eq!(run.sees(Ours, secs(6)), Confirmed);
}

#[test]
fn chance_takes_up_to_half_of_a_pause() {
    let mut run = Run::rebuilding(TIMES);
    run.schedule.closed();
    run.orders(secs(0), Connect);
    run.schedule.step_ended(Failed, run.at(secs(10)), 1.0);
    run.tries_again(Duration::from_millis(10_500), 2);
}

#[test]
fn a_pause_that_would_not_end_before_the_next_look_up_is_not_begun() {
    // The next look-up is at 60, and the pause is a second.
    for (failed, waits_for_a_try) in [(secs(59) - MOMENT, true), (secs(59), false), (secs(59) + MOMENT, false)] {
        let mut run = Run::rebuilding(TIMES);
        run.schedule.closed();
        run.orders(secs(0), Connect);
        run.ends(Failed, failed);
        if waits_for_a_try {
            run.tries_again(failed + secs(1), 2);
        } else {
            run.first_orders(secs(60), LookUp);
            assert_eq!(run.sees(Missing, secs(60)), Failing);
            run.orders(secs(60), Close { attempt: 1 });
        }
    }
}

#[test]
fn what_is_refused_for_good_is_not_tried_again_before_the_next_look_up() {
    let mut run = Run::rebuilding(TIMES);
    run.schedule.closed();
    run.orders(secs(0), Connect);
    run.ends(FailedForGood, secs(1));
    run.first_orders(secs(60), LookUp);

    let mut run = Run::rebuilding(TIMES);
    run.reconnects(secs(0), 1);
    run.orders(secs(0), Register);
    run.ends(FailedForGood, secs(1));
    run.first_orders(secs(60), LookUp);
    // It is not refused for ever: the next look-up leads to the next rebuild.
    assert_eq!(run.sees(Missing, secs(60)), Failing);
    run.orders(secs(60), Close { attempt: 1 });
}

#[test]
fn what_ends_outside_of_its_step_changes_nothing() {
    let mut run = Run::registered(TIMES);
    let untouched = |run: &mut Run| {
        run.schedule.closed();
        run.ends(Failed, secs(1));
        run.ends(Done, secs(1));
    };
    untouched(&mut run);
    run.orders(secs(0), LookUp);
    untouched(&mut run);
    run.orders(secs(1), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(1), 1.0), Failing);
    untouched(&mut run);
    run.first_orders(secs(21), LookUp);
    run.sees(Missing, secs(21));
    run.ends(Done, secs(21));
    run.orders(secs(21), Close { attempt: 1 });
    run.schedule.closed();
    run.schedule.closed();
    run.orders(secs(21), Connect);
}

#[test]
fn rebuilds_begin_an_interval_apart() {
    let mut run = Run::rebuilding(TIMES);
    run.rebuilds(secs(0));
    assert_eq!(run.sees(Ours, secs(1)), Confirmed);
    // Lost again, and seen at once.
    run.look_up_now(secs(2));
    run.first_orders(secs(6), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(6), 0.5), Failing);
    // Not at 16, the moment that chance says.
    run.first_orders(secs(60), LookUp);
    assert_eq!(run.sees(Missing, secs(61)), Failing);
    run.orders(secs(61), Close { attempt: 1 });
    // The next one an interval after the last began, and not after the one before.
    run.rebuilds(secs(61));
    assert_eq!(run.sees(Missing, secs(61)), Unconfirmed);
    run.orders(secs(110), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(110), 0.5), Failing);
    run.first_orders(secs(121), LookUp);
}

#[test]
fn chance_says_when_a_rebuild_begins_that_the_interval_allows() {
    let mut run = Run::rebuilding(TIMES);
    run.rebuilds(secs(0));
    assert_eq!(run.sees(Missing, secs(0)), Unconfirmed);
    run.orders(secs(60), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(60), 0.5), Failing);
    run.first_orders(secs(70), LookUp);
}

#[test]
fn only_what_never_was_registered_is_rebuilt_without_a_spread() {
    let mut run = Run::starting(TIMES);
    // Nobody was asked, and somebody else has it: nothing is lost yet.
    assert_eq!(run.looks_up(secs(0), Another), Superseded);
    run.orders(secs(60), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(60), 1.0), Failing);
    run.orders(secs(60), Close { attempt: 1 });
    // It is like any other now, whether that helped or not.
    run.schedule.closed();
    run.ends(FailedForGood, secs(61));
    run.orders(secs(120), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(120), 0.5), Failing);
    run.first_orders(secs(130), LookUp);

    let mut run = Run::starting(TIMES);
    assert_eq!(run.looks_up(secs(0), Ours), Registered);
    run.orders(secs(60), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(60), 0.5), Failing);
    run.first_orders(secs(70), LookUp);
}

#[test]
fn however_long_nobody_answers_each_rebuild_has_time_to_try_again() {
    let mut run = Run::registered(TIMES);
    let mut time = Duration::ZERO;
    for rebuild in 1..=10 {
        let mut looked = 0;
        // Each look-up takes all of its time.
        let began = loop {
            match run.schedule.next(run.at(time)) {
                WaitUntil(until) => time = until - run.start,
                LookUp => {
                    looked += 1;
                    time += secs(10);
                    assert_eq!(run.sees_by_chance(Unanswered, time, 1.0), Failing);
                }
                order => {
                    assert_eq!(order, Close { attempt: 1 });
                    break time;
                }
            }
        };
        assert_eq!(looked, 2, "before rebuild {rebuild}");
        run.schedule.closed();
        run.orders(time, Connect);
        run.ends(Failed, time);
        run.first_orders(began + secs(1), LookUp);
        time = began + secs(11);
        assert_eq!(run.sees(Unanswered, time), Failing);
        run.orders(time, Close { attempt: 2 });
        run.schedule.closed();
        run.ends(FailedForGood, time);
    }
}

/// A rebuild whose first attempt failed to register at 1; the second one begins at 2.
fn failed_to_register() -> Run {
    let mut run = Run::rebuilding(TIMES);
    run.reconnects(secs(0), 1);
    run.orders(secs(0), Register);
    run.ends(Failed, secs(1));
    run.first_orders(secs(2), LookUp);
    run
}

#[test]
fn an_attempt_that_did_more_than_it_was_told_is_the_last_one() {
    let mut run = failed_to_register();
    assert_eq!(run.sees(Ours, secs(2)), Confirmed, "only the answer was lost");
    run.first_orders(secs(62), LookUp);
}

#[test]
fn whoever_came_between_two_attempts_keeps_the_id() {
    let mut run = failed_to_register();
    assert_eq!(run.sees(Another, secs(2)), Superseded);
    run.first_orders(secs(60), LookUp);
}

#[test]
fn a_look_up_between_two_attempts_that_lasts_until_the_next_one_is_due_leaves_it_to_that() {
    for (ended, tries) in [(secs(60) - MOMENT, true), (secs(60), false)] {
        let mut run = failed_to_register();
        assert_eq!(run.sees(Unanswered, ended), Failing);
        run.orders(ended, if tries { Close { attempt: 2 } } else { LookUp });
    }
}

#[test]
fn a_busy_connection_is_left_alone_between_two_attempts_too() {
    let mut run = failed_to_register();
    assert_eq!(run.sees(Busy, secs(12)), Undecided);
    run.first_orders(secs(60), LookUp);
}
