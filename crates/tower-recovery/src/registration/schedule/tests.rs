//! The schedule by hand: `now` and chance are what a test says.

mod every_order;
mod looking;
mod rebuilding;
mod signals;

use super::{
    Meaning::{Confirmed, Failing, Registered, Superseded, Unconfirmed, Undecided},
    Order::{Close, Connect, LookUp, Register, WaitUntil},
    Sight::{Another, Busy, Missing, Ours, Unanswered},
    StepOutcome::{Done, Failed, FailedForGood},
    *,
};

/// The defaults, so that the tests speak of their numbers: seconds since the start.
const TIMES: Times = Times {
    interval: secs(60),
    look_up_timeout: secs(10),
    rebuild_spread: secs(20),
    disconnect_grace: secs(30),
    close_timeout: secs(5),
    step_timeout: secs(10),
    backoff: LinearBackoff::new(secs(1), secs(15)),
    unanswered_look_ups: 1,
    busy_look_ups: 3,
};

/// The smallest difference between two moments.
const MOMENT: Duration = Duration::from_nanos(1);

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A schedule on a clock that only the test moves.
#[derive(Clone)]
struct Run {
    schedule: Schedule,
    start: Instant,
}

impl Run {
    /// Its first look-up is at the start.
    fn registered(times: Times) -> Self {
        let start = Instant::now();
        Self { schedule: Schedule::registered(times, start, 0.0), start }
    }

    fn starting(times: Times) -> Self {
        let start = Instant::now();
        Self { schedule: Schedule::starting(times, start), start }
    }

    /// A registered process that saw at 0 that it is not registered, and rebuilds at 0, as the second look-up by chance comes at once.
    fn rebuilding(times: Times) -> Self {
        let mut run = Self::registered(times);
        run.orders(secs(0), LookUp);
        assert_eq!(run.sees(Missing, secs(0)), Failing);
        run.orders(secs(0), Close { attempt: 1 });
        run
    }

    fn at(&self, time: Duration) -> Instant {
        self.start + time
    }

    #[track_caller]
    fn orders(&mut self, time: Duration, order: Order) {
        assert_eq!(self.schedule.next(self.at(time)), order);
    }

    #[track_caller]
    fn waits(&mut self, time: Duration, until: Duration) {
        self.orders(time, WaitUntil(self.at(until)));
    }

    /// Ordered at that time, and no moment before.
    #[track_caller]
    fn first_orders(&mut self, time: Duration, order: Order) {
        self.waits(time - MOMENT, time);
        self.orders(time, order);
    }

    fn sees(&mut self, sight: Sight, time: Duration) -> Meaning {
        self.sees_by_chance(sight, time, 0.0)
    }

    fn sees_by_chance(&mut self, sight: Sight, time: Duration, chance: f64) -> Meaning {
        self.schedule.looked_up(sight, self.at(time), chance)
    }

    /// A whole look-up, both at one time.
    #[track_caller]
    fn looks_up(&mut self, time: Duration, sight: Sight) -> Meaning {
        self.orders(time, LookUp);
        self.sees(sight, time)
    }

    /// A step has ended.
    fn ends(&mut self, outcome: StepOutcome, time: Duration) {
        self.schedule.step_ended(outcome, self.at(time), 0.0);
    }

    /// The old connection is closed and a new one is made, at one time.
    #[track_caller]
    fn reconnects(&mut self, time: Duration, attempt: u32) {
        self.orders(time, Close { attempt });
        self.schedule.closed();
        self.orders(time, Connect);
        self.ends(Done, time);
    }

    /// The next attempt at a rebuild begins at that time, and no moment before: with a look-up, at one time.
    #[track_caller]
    fn tries_again(&mut self, time: Duration, attempt: u32) {
        self.first_orders(time, LookUp);
        assert_eq!(self.sees(Missing, time), Failing);
        self.orders(time, Close { attempt });
    }

    /// All steps, up to the look-up that confirms them.
    #[track_caller]
    fn rebuilds(&mut self, time: Duration) {
        self.reconnects(time, 1);
        self.orders(time, Register);
        self.ends(Done, time);
        self.orders(time, LookUp);
    }

    fn disconnected(&mut self, time: Duration) {
        self.schedule.disconnected(self.at(time));
    }

    fn look_up_now(&mut self, time: Duration) {
        self.schedule.look_up_now(self.at(time));
    }
}

#[test]
fn the_first_look_up_of_a_registered_process_comes_at_some_moment_of_the_first_interval() {
    let start = Instant::now();
    for (chance, first) in [(-1.0, 0), (0.0, 0), (0.25, 15), (0.5, 30), (1.0, 60), (7.0, 60)] {
        let mut run = Run { schedule: Schedule::registered(TIMES, start, chance), start };
        if first > 0 {
            run.waits(secs(0), secs(first));
            run.waits(secs(first) - MOMENT, secs(first));
        }
        run.orders(secs(first), LookUp);
    }
}

#[test]
fn a_process_without_a_connection_looks_and_begins_at_once() {
    let mut run = Run::starting(TIMES);
    run.orders(secs(0), LookUp);
    assert_eq!(run.sees_by_chance(Missing, secs(1), 1.0), Failing);
    run.rebuilds(secs(1));
    assert_eq!(run.sees(Ours, secs(2)), Confirmed);
    run.first_orders(secs(62), LookUp);
}

#[test]
fn a_healthy_process_asks_once_an_interval_from_beginning_to_beginning() {
    let mut run = Run::registered(TIMES);
    for beginning in [0, 60, 120, 180] {
        run.orders(secs(beginning), LookUp);
        assert_eq!(run.sees(Ours, secs(beginning + 9)), Registered);
        run.waits(secs(beginning + 9), secs(beginning + 60));
        run.waits(secs(beginning + 60) - MOMENT, secs(beginning + 60));
    }
}

#[test]
fn a_look_up_that_begins_late_moves_the_next_one() {
    let mut run = Run::registered(TIMES);
    assert_eq!(run.looks_up(secs(7), Ours), Registered);
    run.first_orders(secs(67), LookUp);
}

#[test]
fn an_order_is_given_again_until_its_end_is_told() {
    let mut run = Run::registered(TIMES);
    run.orders(secs(0), LookUp);
    run.orders(secs(5), LookUp);
    run.sees(Missing, secs(5));
    for time in [5, 6] {
        run.orders(secs(time), Close { attempt: 1 });
    }
    run.schedule.closed();
    for time in [6, 7] {
        run.orders(secs(time), Connect);
    }
    run.ends(Done, secs(7));
    for time in [7, 8] {
        run.orders(secs(time), Register);
    }
    run.ends(Done, secs(8));
    for time in [8, 9] {
        run.orders(secs(time), LookUp);
    }
    assert_eq!(run.sees(Unanswered, secs(9)), Unconfirmed);
    run.waits(secs(9), secs(60));
}

#[test]
fn the_largest_durations_do_not_overflow() {
    let largest = Times {
        interval: Duration::MAX,
        look_up_timeout: Duration::MAX,
        rebuild_spread: Duration::MAX,
        disconnect_grace: Duration::MAX,
        close_timeout: Duration::MAX,
        step_timeout: Duration::MAX,
        backoff: LinearBackoff::new(Duration::MAX, Duration::MAX),
        unanswered_look_ups: u32::MAX,
        busy_look_ups: u32::MAX,
    };
    let start = Instant::now();
    let mut run = Run { schedule: Schedule::registered(largest, start, 1.0), start };
    let mut time = Duration::ZERO;
    // A wait ends after thirty years at the latest; the steps of a rebuild and the looks before it, three times.
    for sight in [Missing, Missing, Missing, Ours, Busy, Unanswered, Missing, Missing, Another] {
        run.disconnected(time);
        run.look_up_now(time);
        run.disconnected(time);
        while let WaitUntil(until) = run.schedule.next(run.at(time)) {
            time = until - run.start;
        }
        run.disconnected(time);
        run.look_up_now(time);
        run.sees_by_chance(sight, time, 1.0);
        run.schedule.closed();
        run.schedule.step_ended(Done, run.at(time), 1.0);
        run.schedule.step_ended(Failed, run.at(time), 1.0);
    }
    assert!(time > secs(365 * 24 * 60 * 60), "the test waited for {time:?} alone");
}
