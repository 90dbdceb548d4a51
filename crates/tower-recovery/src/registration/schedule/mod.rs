//! When the registry is asked and when the registration is rebuilt: pure. `now` and chance are arguments, and whoever does the steps tells how they ended.
//!
//! ```text
//!                        due                  not ours               time is up
//!   Waiting ───────────────▶ LookingUp ─────────────▶ Spreading ──────────────▶ LookingAgain
//!     ▲ ▲ ▲                    │                                                  │   │ still not ours
//!     │ │ └────────────────────┘ ours, busy, another's                            │   ▼
//!     │ └─────────────────────────────────────────────────────────────────────────┘ Closing
//!     │                                                                               │
//!     │       a step failed, and the interval is over or it will fail again           ▼
//!     ├─────────────────────────────────────────────────────────────── Connecting, Registering ──▶ Pausing ──▶ LookingAgain
//!     │                                                                               │
//!     └──────────────────────────────── Confirming ◀──────────────────────────────────┘ registered
//! ```

#[cfg(test)]
mod tests;

use tokio::time::{Duration, Instant};

use crate::{LinearBackoff, clock};

/// The times and bounds of a probe, checked against each other by its builder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) interval: Duration,
    pub(super) look_up_timeout: Duration,
    pub(super) rebuild_spread: Duration,
    pub(super) disconnect_grace: Duration,
    pub(super) close_timeout: Duration,
    pub(super) step_timeout: Duration,
    pub(super) backoff: LinearBackoff,
    pub(super) unanswered_look_ups: u32,
    pub(super) busy_look_ups: u32,
}

impl Times {
    /// The least time between the end of a look-up and one that a call asks for: a twelfth of the interval.
    pub(super) fn look_up_floor(&self) -> Duration {
        self.interval / 12
    }

    /// How long after the beginning of a rebuild the next look-up may begin, so that it and the second one end in time for the next rebuild. Were the look-up
    /// due any sooner, each rebuild that follows look-ups without an answer would have less time for its tries than the one before, and soon none.
    fn look_up_after_rebuild(&self) -> Duration {
        let looking = self.look_up_timeout.saturating_mul(2).saturating_add(self.rebuild_spread);
        self.interval.saturating_sub(looking)
    }
}

/// What a look-up showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Ours,
    Missing,
    Another,
    Unanswered,
    /// No answer, on a connection that heard something meanwhile.
    Busy,
}

/// How a step of a rebuild ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Done,
    Failed,
    /// It will fail in the same way.
    FailedForGood,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    WaitUntil(Instant),
    LookUp,
    /// The first step of a rebuild, or of another attempt at it.
    Close {
        attempt: u32,
    },
    Connect,
    Register,
}

/// What a look-up means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The process is registered.
    Registered,
    /// It is, by the rebuild that was just done.
    Confirmed,
    /// It is not, and the registration is going to be rebuilt.
    Failing,
    /// It was rebuilt, and the registry does not show it.
    Unconfirmed,
    /// Somebody else has the id.
    Superseded,
    /// Nothing, yet.
    Undecided,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Schedule {
    times: Times,
    stage: Stage,
    /// When the registry is asked next, unless something happens before.
    due: Instant,
    /// When it would be if no connection had ended.
    unmoved: Instant,
    look_up_ended: Option<Instant>,
    rebuild_began: Option<Instant>,
    /// Look-ups in a row without an answer, and those of them on a busy connection.
    unanswered: u32,
    busy: u32,
    /// The registry said no, and nothing was registered since: silence after that leaves nothing to wait for.
    denied: bool,
    /// A call asked for the next look-up, or the one under way.
    asked_for: bool,
    /// A call asked for a look-up while one was under way, which may have been answered before.
    asked_again: bool,
    /// The connection ended during the look-up under way.
    disconnected: bool,
    /// The last look-up was excused by the connection's end: that is had once in a row, or a connection that ends at every look-up would never be rebuilt.
    excused: bool,
    /// Nothing was registered yet that a whole fleet could have lost at one moment.
    starts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    LookingUp,
    Spreading {
        until: Instant,
    },
    /// Before each attempt at a rebuild: somebody else may have come, and an attempt may have done more than it was told.
    LookingAgain {
        attempt: u32,
    },
    Closing {
        attempt: u32,
    },
    Connecting {
        attempt: u32,
    },
    Registering {
        attempt: u32,
    },
    Pausing {
        until: Instant,
        attempt: u32,
    },
    Confirming,
}

impl Schedule {
    /// Of a process that is registered already. The first look-up comes at some moment of the first interval, so that a fleet that was started at one moment
    /// does not ask at one moment.
    pub(super) fn registered(times: Times, now: Instant, chance: f64) -> Self {
        let first = clock::part(times.interval, chance.clamp(0.0, 1.0));
        Self::new(times, clock::later(now, first), false)
    }

    /// Of a process that is not connected yet: it looks and begins at once.
    pub(super) fn starting(times: Times, now: Instant) -> Self {
        Self::new(times, now, true)
    }

    fn new(times: Times, due: Instant, starts: bool) -> Self {
        Self {
            times,
            stage: Stage::Waiting,
            due,
            unmoved: due,
            look_up_ended: None,
            rebuild_began: None,
            unanswered: 0,
            busy: 0,
            denied: false,
            asked_for: false,
            asked_again: false,
            disconnected: false,
            excused: false,
            starts,
        }
    }

    /// What is to be done now. An order to wait may be asked for again before its time, after a signal; every other one is to be carried out, and its end told.
    ///
    /// Waiting => LookingUp; Spreading, Pausing => LookingAgain, when their time is up.
    pub(super) fn next(&mut self, now: Instant) -> Order {
        match self.stage {
            Stage::Waiting if now < self.due => return Order::WaitUntil(self.due),
            Stage::Spreading { until } | Stage::Pausing { until, .. } if now < until => {
                return Order::WaitUntil(until);
            }
            Stage::Waiting => {
                self.due_an_interval_after(now);
                self.stage = Stage::LookingUp;
            }
            Stage::Spreading { .. } => self.stage = Stage::LookingAgain { attempt: 1 },
            Stage::Pausing { attempt, .. } => self.stage = Stage::LookingAgain { attempt },
            _ => {}
        }
        match self.stage {
            Stage::Closing { attempt } => Order::Close { attempt },
            Stage::Connecting { .. } => Order::Connect,
            Stage::Registering { .. } => Order::Register,
            _ => Order::LookUp,
        }
    }

    /// A look-up has ended.
    ///
    /// LookingUp => Waiting | Spreading | Closing; LookingAgain => Waiting | Closing; Confirming => Waiting.
    pub(super) fn looked_up(&mut self, sight: Sight, now: Instant, chance: f64) -> Meaning {
        self.look_up_ended = Some(now);
        let asked_again = std::mem::take(&mut self.asked_again);
        let disconnected = std::mem::take(&mut self.disconnected);
        // What a call was told is proof, and excused by nothing.
        let proof = std::mem::take(&mut self.asked_for) || asked_again;
        let meaning = self.judge(sight, disconnected && !proof, now, chance);
        // What it showed may be from before that was noticed.
        if matches!(meaning, Meaning::Registered | Meaning::Confirmed | Meaning::Undecided) {
            if asked_again {
                self.asked_for = true;
                self.bring_forward(clock::later(now, self.times.look_up_floor()));
            }
            if disconnected {
                self.bring_forward(clock::later(now, self.times.disconnect_grace));
            }
        }
        meaning
    }

    /// The old connection is closed, or was dropped because that took too long.
    ///
    /// Closing => Connecting.
    pub(super) fn closed(&mut self) {
        if let Stage::Closing { attempt } = self.stage {
            self.stage = Stage::Connecting { attempt };
        }
    }

    /// The attempt to connect, or to register, has ended.
    ///
    /// Connecting => Registering; Registering => Confirming; both => Pausing | Waiting where they failed.
    pub(super) fn step_ended(&mut self, outcome: StepOutcome, now: Instant, chance: f64) {
        let (next, attempt) = match self.stage {
            Stage::Connecting { attempt } => (Stage::Registering { attempt }, attempt),
            Stage::Registering { attempt } => (Stage::Confirming, attempt),
            _ => return,
        };
        // It may have done more than it was told.
        self.denied &= next != Stage::Confirming;
        let until = clock::later(now, self.times.backoff.pause(attempt, chance));
        self.stage = match outcome {
            StepOutcome::Done => next,
            StepOutcome::Failed if until < self.due => Stage::Pausing { until, attempt: attempt.saturating_add(1) },
            StepOutcome::Failed | StepOutcome::FailedForGood => Stage::Waiting,
        };
    }

    /// The connection says that it ended. Its transport may repair itself, so this only moves the look-up: to the end of a grace, and by no more than that however
    /// often it happens. While the registration is rebuilt it is what the rebuild does.
    pub(super) fn disconnected(&mut self, now: Instant) {
        match self.stage {
            // What a call was told is proof, and looked at as soon as it may be.
            Stage::Waiting if self.asked_for => {}
            Stage::Waiting => {
                let latest = clock::later(self.unmoved, self.times.disconnect_grace);
                self.due = clock::later(now, self.times.disconnect_grace).min(latest);
            }
            Stage::LookingUp => self.disconnected = true,
            _ => {}
        }
    }

    /// A call was told that this process is not registered: the registry is asked at once, if it was not just now.
    pub(super) fn look_up_now(&mut self, now: Instant) {
        match self.stage {
            Stage::Waiting => {
                self.asked_for = true;
                let floor = self.look_up_ended.map(|ended| clock::later(ended, self.times.look_up_floor()));
                self.bring_forward(floor.map_or(now, |floor| floor.max(now)));
            }
            Stage::LookingUp | Stage::LookingAgain { .. } => self.asked_again = true,
            _ => {}
        }
    }

    fn due_an_interval_after(&mut self, now: Instant) {
        self.due = clock::later(now, self.times.interval);
        self.unmoved = self.due;
    }

    fn bring_forward(&mut self, to: Instant) {
        self.due = self.due.min(to);
        self.unmoved = self.unmoved.min(to);
    }

    fn judge(&mut self, sight: Sight, disconnected: bool, now: Instant, chance: f64) -> Meaning {
        let excused = disconnected && !self.excused && !matches!(sight, Sight::Ours | Sight::Another);
        self.excused = excused;
        if matches!(sight, Sight::Ours | Sight::Missing | Sight::Another) {
            self.unanswered = 0;
            self.denied = sight == Sight::Missing && !excused;
        }
        let stage = std::mem::replace(&mut self.stage, Stage::Waiting);
        match sight {
            Sight::Ours => {
                self.busy = 0;
                self.starts = false;
                let confirms = matches!(stage, Stage::Confirming | Stage::LookingAgain { attempt: 2.. });
                // A second look-up that waited for a rebuild to be allowed stands for the regular one that was due meanwhile.
                if confirms || self.due <= now {
                    self.due_an_interval_after(now);
                }
                if confirms { Meaning::Confirmed } else { Meaning::Registered }
            }
            Sight::Another => Meaning::Superseded,
            _ if stage == Stage::Confirming => Meaning::Unconfirmed,
            _ if excused => Meaning::Undecided,
            Sight::Busy if !self.denied && self.is_still_busy() => Meaning::Undecided,
            Sight::Busy | Sight::Unanswered
                if !self.denied && stage == Stage::LookingUp && !self.is_unanswered_for_too_long() =>
            {
                Meaning::Undecided
            }
            Sight::Missing | Sight::Busy | Sight::Unanswered => {
                self.fail(stage, now, chance);
                Meaning::Failing
            }
        }
    }

    fn is_still_busy(&mut self) -> bool {
        self.busy = self.busy.saturating_add(1);
        self.busy <= self.times.busy_look_ups
    }

    fn is_unanswered_for_too_long(&mut self) -> bool {
        self.unanswered = self.unanswered.saturating_add(1);
        self.unanswered >= self.times.unanswered_look_ups
    }

    /// The registration is to be rebuilt.
    fn fail(&mut self, stage: Stage, now: Instant, chance: f64) {
        match stage {
            Stage::LookingAgain { attempt: attempt @ 2.. } if now < self.due => self.stage = Stage::Closing { attempt },
            Stage::LookingAgain { attempt: 2.. } => {}
            Stage::LookingUp => self.spread(now, chance),
            _ => self.begin(now),
        }
    }

    /// The rebuild begins an interval after the last one began at the earliest, and otherwise at a moment that chance says.
    fn spread(&mut self, now: Instant, chance: f64) {
        let spread = if self.starts { Duration::ZERO } else { self.times.rebuild_spread };
        let until = clock::later(now, clock::part(spread, chance.clamp(0.0, 1.0)));
        let allowed = self.rebuild_began.map(|began| clock::later(began, self.times.interval));
        let until = allowed.map_or(until, |allowed| allowed.max(until));
        if until > now {
            self.stage = Stage::Spreading { until };
        } else {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Instant) {
        self.rebuild_began = Some(now);
        self.due = self.due.max(clock::later(now, self.times.look_up_after_rebuild()));
        self.unmoved = self.unmoved.max(self.due);
        self.starts = false;
        self.stage = Stage::Closing { attempt: 1 };
    }
}
