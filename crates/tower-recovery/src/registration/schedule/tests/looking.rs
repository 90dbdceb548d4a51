//! What each look-up means, and what comes after it.

use super::*;

fn times(unanswered_look_ups: u32, busy_look_ups: u32) -> Times {
    Times { unanswered_look_ups, busy_look_ups, ..TIMES }
}

#[test]
fn a_registration_that_is_lost_is_looked_at_again_at_some_moment_of_the_spread() {
    for (chance, until) in [(0.05, 6), (0.5, 15), (1.0, 25), (9.0, 25)] {
        let mut run = Run::registered(TIMES);
        run.orders(secs(0), LookUp);
        assert_eq!(run.sees_by_chance(Missing, secs(5), chance), Failing);
        run.waits(secs(5), secs(until));
        run.first_orders(secs(until), LookUp);
        // The second one says it: at once, whatever chance says.
        assert_eq!(run.sees_by_chance(Missing, secs(until + 1), 1.0), Failing);
        run.orders(secs(until + 1), Close { attempt: 1 });
    }
}

#[test]
fn a_registration_that_repaired_itself_in_the_spread_is_left_alone() {
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    run.sees_by_chance(Missing, secs(1), 1.0);
    run.first_orders(secs(21), LookUp);
    assert_eq!(run.sees(Ours, secs(22)), Registered);
    // The next regular look-up stays where it was.
    run.first_orders(secs(60), LookUp);
}

#[test]
fn a_second_look_up_stands_for_the_regular_one_that_was_due_meanwhile() {
    for (found, next) in [(secs(70) - MOMENT, 70), (secs(70), 130), (secs(73), 133)] {
        let mut run = Run::rebuilding(TIMES);
        run.rebuilds(secs(4));
        assert_eq!(run.sees(Missing, secs(4)), Unconfirmed);
        run.look_up_now(secs(5));
        run.orders(secs(10), LookUp);
        assert_eq!(run.sees(Missing, secs(10)), Failing);
        // The next rebuild may begin at 60, and the next look-up is due at 70.
        run.first_orders(secs(60), LookUp);
        assert_eq!(run.sees(Ours, found), Registered);
        run.first_orders(secs(next), LookUp);
    }
}

#[test]
fn no_answer_is_a_loss_and_the_second_look_up_decides() {
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    assert_eq!(run.sees_by_chance(Unanswered, secs(10), 0.5), Failing);
    run.first_orders(secs(20), LookUp);
    assert_eq!(run.sees(Unanswered, secs(30)), Failing);
    run.orders(secs(30), Close { attempt: 1 });
}

#[test]
fn an_id_that_another_process_has_is_left_to_it() {
    let mut run = Run::registered(TIMES);
    assert_eq!(run.looks_up(secs(0), Another), Superseded);
    run.first_orders(secs(60), LookUp);
    // Seen by the look-up before a rebuild.
    assert_eq!(run.sees_by_chance(Missing, secs(60), 1.0), Failing);
    run.first_orders(secs(80), LookUp);
    assert_eq!(run.sees(Another, secs(80)), Superseded);
    // And by the one after it.
    run.first_orders(secs(120), LookUp);
    assert_eq!(run.sees(Missing, secs(120)), Failing);
    run.rebuilds(secs(120));
    assert_eq!(run.sees(Another, secs(121)), Superseded);
    run.first_orders(secs(180), LookUp);
    assert_eq!(run.sees(Ours, secs(180)), Registered);
}

#[test]
fn a_rebuild_that_the_second_look_up_does_not_show_waits_for_the_next_one() {
    for sight in [Missing, Unanswered, Busy] {
        let mut run = Run::rebuilding(TIMES);
        run.rebuilds(secs(0));
        assert_eq!(run.sees(sight, secs(3)), Unconfirmed, "{sight:?}");
        run.first_orders(secs(60), LookUp);
    }
}

#[test]
fn a_rebuild_that_is_confirmed_begins_a_new_interval() {
    let mut run = Run::rebuilding(TIMES);
    run.rebuilds(secs(4));
    assert_eq!(run.sees(Ours, secs(5)), Confirmed);
    run.first_orders(secs(65), LookUp);
    assert_eq!(run.sees(Ours, secs(66)), Registered, "it is confirmed once");
}

#[test]
fn so_many_look_ups_in_a_row_must_have_had_no_answer() {
    let mut run = Run::registered(times(3, 0));
    assert_eq!(run.looks_up(secs(0), Unanswered), Undecided);
    run.first_orders(secs(60), LookUp);
    assert_eq!(run.sees(Unanswered, secs(60)), Undecided);
    run.first_orders(secs(120), LookUp);
    assert_eq!(run.sees_by_chance(Unanswered, secs(120), 1.0), Failing);
    run.first_orders(secs(140), LookUp);
}

#[test]
fn each_answer_begins_the_row_anew() {
    for answer in [Ours, Missing, Another] {
        let mut run = Run::registered(times(2, 0));
        assert_eq!(run.looks_up(secs(0), Unanswered), Undecided);
        run.orders(secs(60), LookUp);
        if run.sees_by_chance(answer, secs(60), 0.5) == Failing {
            assert_eq!(run.looks_up(secs(70), Ours), Registered);
        }
        assert_eq!(run.looks_up(secs(120), Unanswered), Undecided, "after {answer:?}");
        assert_eq!(run.looks_up(secs(180), Unanswered), Failing, "after {answer:?}");
    }
}

#[test]
fn once_the_row_is_long_enough_each_look_up_without_an_answer_fails() {
    let mut run = Run::registered(times(2, 0));
    run.looks_up(secs(0), Unanswered);
    assert_eq!(run.looks_up(secs(60), Unanswered), Failing);
    run.rebuilds(secs(60));
    assert_eq!(run.sees(Unanswered, secs(60)), Unconfirmed);
    assert_eq!(run.looks_up(secs(120), Unanswered), Failing);
}

#[test]
fn a_second_look_up_without_an_answer_needs_no_row() {
    let mut run = Run::registered(times(3, 0));
    run.orders(secs(0), LookUp);
    run.sees_by_chance(Missing, secs(0), 1.0);
    run.orders(secs(20), LookUp);
    assert_eq!(run.sees(Unanswered, secs(20)), Failing);
    run.orders(secs(20), Close { attempt: 1 });
}

#[test]
fn a_busy_connection_is_left_alone_a_few_times() {
    let mut run = Run::registered(TIMES);
    for time in [0, 60, 120] {
        assert_eq!(run.looks_up(secs(time), Busy), Undecided);
        run.waits(secs(time + 10), secs(time + 60));
    }
    assert_eq!(run.looks_up(secs(180), Busy), Failing);
    run.orders(secs(180), Close { attempt: 1 });
}

#[test]
fn only_a_look_up_that_finds_the_process_forgets_that_it_was_busy() {
    let mut run = Run::registered(times(1, 1));
    assert_eq!(run.looks_up(secs(0), Busy), Undecided);
    assert_eq!(run.looks_up(secs(60), Ours), Registered);
    assert_eq!(run.looks_up(secs(120), Busy), Undecided);
    assert_eq!(run.looks_up(secs(180), Another), Superseded);
    assert_eq!(run.looks_up(secs(240), Busy), Failing);
    run.rebuilds(secs(240));
    assert_eq!(run.sees(Ours, secs(240)), Confirmed);
    assert_eq!(run.looks_up(secs(300), Busy), Undecided);
    run.orders(secs(360), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(360), 0.5), Failing);
    assert_eq!(run.looks_up(secs(370), Busy), Failing);
}

#[test]
fn a_connection_that_is_busy_in_the_second_look_up_is_left_alone() {
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    run.sees_by_chance(Unanswered, secs(10), 0.5);
    run.orders(secs(20), LookUp);
    assert_eq!(run.sees(Busy, secs(30)), Undecided);
    run.first_orders(secs(60), LookUp);
}

#[test]
fn a_connection_that_was_busy_too_often_counts_as_one_without_an_answer() {
    let mut run = Run::registered(times(2, 1));
    assert_eq!(run.looks_up(secs(0), Busy), Undecided);
    assert_eq!(run.looks_up(secs(60), Busy), Undecided, "the first without an answer");
    assert_eq!(run.looks_up(secs(120), Busy), Failing);

    let mut run = Run::registered(times(1, 0));
    assert_eq!(run.looks_up(secs(0), Busy), Failing, "never left alone");
}

#[test]
fn silence_after_an_answer_that_said_no_is_never_taken_for_being_busy() {
    // Before the rebuild.
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(0), 0.5), Failing);
    run.orders(secs(10), LookUp);
    assert_eq!(run.sees(Busy, secs(20)), Failing);
    run.orders(secs(20), Close { attempt: 1 });

    // After one that the registry does not show.
    for silence in [Busy, Unanswered] {
        let mut run = Run::rebuilding(times(3, 3));
        run.rebuilds(secs(0));
        assert_eq!(run.sees(Missing, secs(1)), Unconfirmed);
        run.orders(secs(60), LookUp);
        assert_eq!(run.sees(silence, secs(70)), Failing, "{silence:?}");
    }
}

#[test]
fn what_said_no_counts_until_something_else_is_known() {
    // It says yes.
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    run.sees_by_chance(Missing, secs(0), 0.5);
    assert_eq!(run.looks_up(secs(10), Ours), Registered);
    assert_eq!(run.looks_up(secs(60), Busy), Undecided);

    // Or that somebody else was there.
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    run.sees_by_chance(Missing, secs(0), 0.5);
    assert_eq!(run.looks_up(secs(10), Another), Superseded);
    assert_eq!(run.looks_up(secs(60), Busy), Undecided);

    // Or it was registered since, and was asked for nothing that it answered.
    let mut run = Run::rebuilding(TIMES);
    run.rebuilds(secs(0));
    assert_eq!(run.sees(Unanswered, secs(10)), Unconfirmed);
    assert_eq!(run.looks_up(secs(60), Busy), Undecided);

    // What is excused counts for nothing.
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    run.disconnected(secs(1));
    assert_eq!(run.sees(Missing, secs(2)), Undecided);
    assert_eq!(run.looks_up(secs(32), Busy), Undecided);
}
