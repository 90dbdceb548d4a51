//! What others notice: the end of the connection, and a call that was told that this process is not registered.

use super::*;

/// A process that was found at 0; its next look-up is at 60.
fn healthy() -> Run {
    let mut run = Run::registered(TIMES);
    assert_eq!(run.looks_up(secs(0), Ours), Registered);
    run
}

#[test]
fn a_disconnect_moves_the_look_up_to_the_end_of_a_grace() {
    let mut run = healthy();
    run.disconnected(secs(10));
    run.first_orders(secs(40), LookUp);
    // Backwards too: the transport has its time.
    assert_eq!(run.sees(Ours, secs(40)), Registered);
    run.disconnected(secs(95));
    run.first_orders(secs(125), LookUp);
}

#[test]
fn disconnects_move_a_look_up_by_no_more_than_a_grace() {
    let mut run = healthy();
    for time in [0, 29, 58, 59] {
        run.disconnected(secs(time));
        run.waits(secs(time), secs(time + 30));
    }
    run.disconnected(secs(60));
    run.waits(secs(60), secs(90));
    for time in [61, 75, 89] {
        run.disconnected(secs(time));
        run.waits(secs(time), secs(90));
    }
    run.first_orders(secs(90), LookUp);
}

#[test]
fn disconnects_before_the_first_look_up_move_it_by_no_more_than_a_grace() {
    let start = Instant::now();
    let mut run = Run { schedule: Schedule::registered(TIMES, start, 0.5), start };
    for time in (1..59).step_by(11) {
        run.disconnected(secs(time));
        run.waits(secs(time), secs(time + 30).min(secs(60)));
    }
    run.first_orders(secs(60), LookUp);
}

#[test]
fn a_disconnect_during_a_look_up_excuses_what_it_shows_once() {
    for sight in [Missing, Unanswered, Busy] {
        let mut run = healthy();
        run.orders(secs(60), LookUp);
        run.disconnected(secs(61));
        assert_eq!(run.sees(sight, secs(62)), Undecided, "{sight:?}");
        run.first_orders(secs(92), LookUp);
        // A connection that ends at every look-up is rebuilt none the less.
        run.disconnected(secs(93));
        assert_eq!(run.sees_by_chance(Missing, secs(94), 0.5), Failing, "after {sight:?}");
        run.first_orders(secs(104), LookUp);
    }
}

#[test]
fn an_excuse_can_be_had_again_after_a_look_up_without_one() {
    let mut run = healthy();
    let mut shows = |time, sight| {
        run.orders(secs(time), LookUp);
        run.disconnected(secs(time));
        run.sees_by_chance(sight, secs(time), 1.0)
    };
    assert_eq!(shows(60, Missing), Undecided);
    assert_eq!(shows(90, Ours), Registered);
    assert_eq!(shows(150, Missing), Undecided);
    assert_eq!(shows(180, Another), Superseded);
    assert_eq!(shows(240, Missing), Undecided);
    assert_eq!(shows(270, Missing), Failing);
    // The second look-up before the rebuild is never excused.
    assert_eq!(shows(290, Missing), Failing);
}

#[test]
fn an_excused_look_up_counts_for_nothing() {
    let mut run = Run::registered(Times { unanswered_look_ups: 2, busy_look_ups: 1, ..TIMES });
    run.orders(secs(0), LookUp);
    run.disconnected(secs(0));
    assert_eq!(run.sees(Unanswered, secs(0)), Undecided);
    assert_eq!(run.looks_up(secs(30), Unanswered), Undecided);
    assert_eq!(run.looks_up(secs(90), Ours), Registered);
    run.orders(secs(150), LookUp);
    run.disconnected(secs(150));
    assert_eq!(run.sees(Busy, secs(150)), Undecided);
    assert_eq!(run.looks_up(secs(180), Busy), Undecided);
    assert_eq!(run.looks_up(secs(240), Unanswered), Undecided);
    assert_eq!(run.looks_up(secs(300), Busy), Failing);
}

#[test]
fn an_excuse_brings_the_next_look_up_forward_and_never_puts_it_off() {
    let mut run = Run::registered(Times { disconnect_grace: secs(60), ..TIMES });
    run.orders(secs(0), LookUp);
    run.disconnected(secs(0));
    assert_eq!(run.sees(Missing, secs(5)), Undecided);
    run.first_orders(secs(60), LookUp);
}

#[test]
fn a_disconnect_during_a_look_up_that_finds_the_process_has_it_asked_again_after_the_grace() {
    let mut run = healthy();
    run.orders(secs(60), LookUp);
    run.disconnected(secs(61));
    assert_eq!(run.sees(Ours, secs(62)), Registered);
    run.first_orders(secs(92), LookUp);
}

#[test]
fn an_eviction_that_a_call_saw_is_looked_at_at_once() {
    let mut run = healthy();
    run.look_up_now(secs(30));
    run.orders(secs(30), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(31), 0.5), Failing);
    run.first_orders(secs(41), LookUp);

    // Before the first look-up, too.
    let start = Instant::now();
    let mut run = Run { schedule: Schedule::registered(TIMES, start, 1.0), start };
    run.look_up_now(secs(1));
    run.orders(secs(1), LookUp);
}

#[test]
fn look_ups_that_are_asked_for_have_a_twelfth_of_the_interval_between_them() {
    let mut run = healthy();
    run.look_up_now(secs(1));
    run.look_up_now(secs(2));
    run.first_orders(secs(5), LookUp);
    assert_eq!(run.sees(Ours, secs(8)), Registered);
    // From the end of the last one.
    run.look_up_now(secs(8));
    run.first_orders(secs(13), LookUp);
    assert_eq!(run.sees(Ours, secs(13)), Registered);
    run.waits(secs(13), secs(73));
}

#[test]
fn a_look_up_that_is_asked_for_is_never_later_than_the_regular_one() {
    let mut run = healthy();
    assert_eq!(run.looks_up(secs(60), Ours), Registered);
    run.orders(secs(120), LookUp);
    // It takes so long that the floor is behind the next one.
    assert_eq!(run.sees(Ours, secs(178)), Registered);
    run.look_up_now(secs(179));
    run.first_orders(secs(180), LookUp);
}

#[test]
fn an_eviction_that_was_seen_during_a_look_up_is_looked_at_after_it() {
    for sight in [Ours, Unanswered, Busy] {
        let mut run = Run::registered(Times { unanswered_look_ups: 2, ..TIMES });
        run.orders(secs(0), LookUp);
        run.look_up_now(secs(1));
        run.sees(sight, secs(2));
        run.disconnected(secs(3));
        run.first_orders(secs(7), LookUp);
        // Once.
        assert_eq!(run.sees(Ours, secs(7)), Registered);
        run.waits(secs(7), secs(67));
    }
}

#[test]
fn proof_is_not_moved_by_a_disconnect() {
    let mut run = healthy();
    run.look_up_now(secs(1));
    run.disconnected(secs(2));
    run.first_orders(secs(5), LookUp);
    // Nor excused by one, which is looked at itself.
    run.disconnected(secs(6));
    assert_eq!(run.clone().sees_by_chance(Missing, secs(6), 0.5), Failing);
    assert_eq!(run.sees(Ours, secs(6)), Registered);
    run.first_orders(secs(36), LookUp);
}

#[test]
fn proof_that_comes_after_a_disconnect_brings_the_look_up_forward() {
    let mut run = healthy();
    run.disconnected(secs(10));
    run.look_up_now(secs(11));
    run.orders(secs(11), LookUp);
}

#[test]
fn proof_during_a_look_up_leaves_no_excuse_whichever_comes_first() {
    for disconnect_first in [true, false] {
        let mut run = healthy();
        run.orders(secs(60), LookUp);
        if disconnect_first {
            run.disconnected(secs(61));
            run.look_up_now(secs(61));
        } else {
            run.look_up_now(secs(61));
            run.disconnected(secs(61));
        }
        assert_eq!(run.sees_by_chance(Missing, secs(62), 0.5), Failing, "the disconnect first: {disconnect_first}");
    }
}

#[test]
fn a_disconnect_counts_again_once_the_look_up_that_was_asked_for_has_ended() {
    let mut run = healthy();
    run.look_up_now(secs(10));
    assert_eq!(run.looks_up(secs(10), Ours), Registered);
    run.disconnected(secs(11));
    run.first_orders(secs(41), LookUp);
}

#[test]
fn while_the_registration_is_rebuilt_signals_change_nothing() {
    let signals = |run: &mut Run, time| {
        run.disconnected(time);
        run.look_up_now(time);
        run.disconnected(time);
    };
    let mut run = healthy();
    run.orders(secs(60), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(60), 0.5), Failing);
    signals(&mut run, secs(61));
    run.first_orders(secs(70), LookUp);
    signals(&mut run, secs(70));
    assert_eq!(run.sees(Missing, secs(70)), Failing);
    run.orders(secs(70), Close { attempt: 1 });
    signals(&mut run, secs(71));
    run.schedule.closed();
    run.orders(secs(71), Connect);
    signals(&mut run, secs(72));
    run.ends(Failed, secs(72));
    signals(&mut run, secs(72));
    run.tries_again(secs(73), 2);
    run.reconnects(secs(73), 2);
    run.orders(secs(73), Register);
    signals(&mut run, secs(74));
    run.ends(Done, secs(74));
    run.orders(secs(74), LookUp);
    signals(&mut run, secs(75));
    assert_eq!(run.sees(Ours, secs(75)), Confirmed);
    run.first_orders(secs(135), LookUp);
}
