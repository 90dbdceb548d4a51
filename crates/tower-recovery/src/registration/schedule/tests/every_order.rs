//! Every order of what can happen, up to a length: not against a second schedule, but against what must hold whatever happens.

use Event::{Closed, Disconnected, Ended, Evicted, Half, Shows, TimeIsUp};

use super::*;

/// What can happen while an order stands.
#[derive(Clone, Copy, Debug)]
enum Event {
    TimeIsUp,
    /// Half of a wait passes, and the schedule is asked again.
    Half,
    Disconnected,
    Evicted,
    /// The look-up shows this, after so many seconds; chance says how the spread is.
    Shows(Sight, u64, f64),
    Closed(u64),
    Ended(StepOutcome, u64),
}

const LENGTH: usize = 8;

fn events(order: Order) -> &'static [Event] {
    match order {
        WaitUntil(_) => &[TimeIsUp, Half, Disconnected, Evicted],
        LookUp => &[
            Shows(Ours, 1, 0.5),
            Shows(Missing, 0, 0.0),
            Shows(Missing, 9, 1.0),
            Shows(Another, 1, 0.5),
            Shows(Unanswered, 10, 0.5),
            Shows(Busy, 10, 0.5),
            Disconnected,
            Evicted,
        ],
        Close { .. } => &[Closed(5), Disconnected, Evicted],
        Connect | Register => &[Ended(Done, 1), Ended(Failed, 0), Ended(Failed, 10), Ended(FailedForGood, 1)],
    }
}

/// A schedule, and what must be remembered of it.
#[derive(Clone)]
struct Watched {
    schedule: Schedule,
    now: Instant,
    /// What is ordered, and what was before it that was no wait.
    order: Order,
    before: Option<Order>,
    looked: Option<Instant>,
    /// When the last regular one began.
    asked: Instant,
    sight: Option<Sight>,
    /// When the next look-up is, after one that found the process and as long as nobody says anything.
    regular: Option<Instant>,
    rebuild_began: Option<Instant>,
    attempt: u32,
    /// Orders in a row without a wait.
    in_a_row: u32,
    /// Whether there was a wait since the last attempt to connect.
    paused: bool,
}

impl Watched {
    fn new(schedule: Schedule, now: Instant) -> Self {
        let mut watched = Self {
            schedule,
            now,
            order: WaitUntil(now),
            before: None,
            looked: None,
            asked: now,
            sight: None,
            regular: None,
            rebuild_began: None,
            attempt: 0,
            in_a_row: 0,
            paused: false,
        };
        watched.order();
        watched
    }

    /// What is ordered now must be in order.
    fn order(&mut self) {
        let had = self.order;
        let order = self.schedule.next(self.now);
        if let WaitUntil(until) = order {
            self.order = order;
            (self.in_a_row, self.paused) = (0, true);
            return self.waits(until);
        }
        // Asked again without an end: the same.
        if had == order {
            return;
        }
        self.in_a_row += 1;
        assert!(self.in_a_row <= 8, "so many orders without a wait");
        match order {
            WaitUntil(_) => {}
            LookUp => {
                if let Some(regular) = self.regular.take() {
                    assert_eq!(self.now, regular, "look-ups of a healthy process are an interval apart");
                }
                self.looked = Some(self.now);
                if self.schedule.stage == Stage::LookingUp {
                    self.asked = self.now;
                }
            }
            Close { attempt: 1 } => self.begins_a_rebuild(),
            Close { attempt } => {
                assert_eq!(attempt, self.attempt + 1);
                assert_eq!(self.before, Some(LookUp), "the look-up just before says that it is needed");
                assert!(matches!(self.sight, Some(Missing | Unanswered | Busy)), "{:?}", self.sight);
                assert!(self.paused, "no step is tried again without a pause");
                self.attempt = attempt;
            }
            Connect => {
                assert_eq!(self.before, Some(Close { attempt: self.attempt }));
                self.paused = false;
            }
            Register => assert_eq!(self.before, Some(Connect)),
        }
        (self.before, self.order) = (Some(order), order);
    }

    fn waits(&self, until: Instant) {
        assert!(until > self.now);
        let longest = TIMES.interval + TIMES.disconnect_grace;
        assert!(until <= self.looked.unwrap_or(until) + longest, "a wait of {:?} after a look-up", until - self.now);
    }

    fn begins_a_rebuild(&mut self) {
        assert_eq!(self.before, Some(LookUp), "the look-up just before says that it is needed");
        assert!(matches!(self.sight, Some(Missing | Unanswered | Busy)), "{:?}", self.sight);
        if let Some(began) = self.rebuild_began {
            assert!(self.now >= began + TIMES.interval, "{:?} after the last one", self.now - began);
        }
        self.rebuild_began = Some(self.now);
        self.attempt = 1;
    }

    fn apply(&mut self, event: Event) {
        // What is ordered after an end is another order, also if it is the same one.
        let ended = matches!(event, Shows(..) | Closed(_) | Ended(..));
        match event {
            TimeIsUp | Half => {
                let WaitUntil(until) = self.order else { unreachable!("time passes in a wait") };
                let wait = until - self.now;
                assert_eq!(self.schedule.clone().next(until - MOMENT), self.order);
                self.now += if matches!(event, Half) { wait / 2 } else { wait };
            }
            Disconnected => {
                self.regular = None;
                self.schedule.disconnected(self.now);
            }
            Evicted => {
                self.regular = None;
                self.schedule.look_up_now(self.now);
            }
            Shows(sight, seconds, chance) => self.shows(sight, seconds, chance),
            Closed(seconds) => {
                self.now += secs(seconds);
                self.schedule.closed();
            }
            Ended(outcome, seconds) => {
                self.now += secs(seconds);
                self.schedule.step_ended(outcome, self.now, 0.5);
            }
        }
        if ended {
            self.order = WaitUntil(self.now);
        }
        self.order();
    }

    fn shows(&mut self, sight: Sight, seconds: u64, chance: f64) {
        let signalled = self.schedule.asked_again || self.schedule.disconnected;
        self.now += secs(seconds);
        let meaning = self.schedule.looked_up(sight, self.now, chance);
        self.sight = Some(sight);
        match meaning {
            Registered | Confirmed => assert_eq!(sight, Ours),
            Superseded => assert_eq!(sight, Another),
            Failing | Unconfirmed | Undecided => assert!(!matches!(sight, Ours | Another)),
        }
        self.regular = match meaning {
            Confirmed if !signalled => Some(self.now + TIMES.interval),
            Registered if !signalled => Some(self.asked + TIMES.interval),
            _ => None,
        };
    }

    /// From here on all goes well and nobody says anything: the registry is asked before long, and the process is found.
    fn ends_well(mut self) {
        let begin = self.now;
        loop {
            match self.order {
                WaitUntil(_) => self.apply(TimeIsUp),
                LookUp => return self.apply(Shows(Ours, 0, 0.0)),
                Close { .. } => self.apply(Closed(0)),
                Connect | Register => self.apply(Ended(Done, 0)),
            }
            assert!(self.now <= begin + TIMES.interval + TIMES.disconnect_grace, "nobody is asked");
        }
    }
}

fn explore(watched: &Watched, trace: &mut Vec<Event>, explored: &mut u64) {
    for &event in events(watched.order) {
        let mut watched = watched.clone();
        trace.push(event);
        let happened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            watched.apply(event);
            if trace.len() == LENGTH {
                watched.clone().ends_well();
            }
        }));
        if let Err(panic) = happened {
            eprintln!("after {trace:?}");
            std::panic::resume_unwind(panic);
        }
        *explored += 1;
        if trace.len() < LENGTH {
            explore(&watched, trace, explored);
        }
        trace.pop();
    }
}

fn every_order(times: Times, mut make: impl FnMut(Times, Instant) -> Schedule) {
    let now = Instant::now();
    let mut explored = 0;
    explore(&Watched::new(make(times, now), now), &mut Vec::new(), &mut explored);
    // A guard against an enumeration that prunes itself to nothing; the exact number changes with the list of events.
    assert!(explored > 100_000, "only {explored} orders were explored");
}

#[test]
fn every_order_of_a_process_that_is_registered_keeps_the_rules() {
    every_order(TIMES, |times, now| Schedule::registered(times, now, 0.5));
}

#[test]
fn every_order_of_a_process_that_starts_keeps_the_rules() {
    every_order(TIMES, Schedule::starting);
}

#[test]
fn every_order_of_a_patient_probe_keeps_the_rules() {
    let times = Times { unanswered_look_ups: 2, busy_look_ups: 1, ..TIMES };
    every_order(times, |times, now| Schedule::registered(times, now, 0.0));
}

#[test]
fn every_order_without_a_spread_keeps_the_rules() {
    every_order(Times { rebuild_spread: Duration::ZERO, ..TIMES }, |times, now| Schedule::registered(times, now, 0.0));
}
