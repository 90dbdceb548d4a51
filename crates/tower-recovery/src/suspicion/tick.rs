//! One coarse tick for all reads that wait.
//!
//! Each read takes a seat until its answer is there, and the tick at which it will have waited for long wakes it. The task that ticks is started by the first read that waits, and
//! ends when none has come for as long as a read waits: an idle process does not tick.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use slab::Slab;
use tokio::{
    runtime::Handle,
    time::{Duration, Instant, MissedTickBehavior, interval_at},
};

use crate::sync::{Mutex, lock};

/// The longest tick while it is not below a sixty-fourth of the wait.
const LONGEST: Duration = Duration::from_millis(100);
const SHORTEST: Duration = Duration::from_millis(1);

pub(crate) struct Tick {
    length: Duration,
    /// In ticks. A read that comes between two of them waits up to one tick more, and never less.
    wait: u64,
    room: Mutex<Room>,
}

/// Nothing is woken, dropped or started while it is locked.
struct Room {
    now: u64,
    seats: Slab<Sitting>,
    /// The tick at which the registry was asked last because of a suspicion.
    asked: Option<u64>,
    /// The tick at which it answered last, or failed, whoever had asked.
    answered: Option<u64>,
    ticks: bool,
    /// Ticks in a row at which nobody sat here, and since the last of which nobody came.
    quiet: u64,
}

struct Sitting {
    due: u64,
    waker: Waker,
}

/// A read's seat. It is given up when this is dropped.
pub(crate) struct Seat {
    tick: Arc<Tick>,
    key: usize,
}

/// What a read that is due may do where no look-up is under way.
pub(crate) enum Turn {
    /// It has the registry asked.
    Ask,
    /// Nothing: the registry has answered since the read was due, and the handle is still the live one.
    Settled,
    /// It waits until this tick: the registry was asked less than `suspect_after` ago.
    Later(u64),
}

impl Tick {
    pub(crate) fn new(suspect_after: Duration) -> Self {
        let longest = (suspect_after / 8).min(LONGEST).max(suspect_after / 64).max(SHORTEST);
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let wait = nanoseconds(suspect_after).div_ceil(nanoseconds(longest));
        // As many ticks as it takes, and none longer than their share of the wait.
        let length = Duration::from_nanos(nanoseconds(suspect_after).div_ceil(wait)).max(SHORTEST);
        Self {
            length,
            wait,
            room: Mutex::new(Room { now: 0, seats: Slab::new(), asked: None, answered: None, ticks: false, quiet: 0 }),
        }
    }

    /// A seat for a read that begins to wait now.
    pub(crate) fn wait(self: &Arc<Self>, context: &Context<'_>) -> Seat {
        self.sit(context, |room| room.now + self.wait + 1)
    }

    /// A seat until this tick. If it is over by now, the seat is for nothing.
    pub(crate) fn wait_until(self: &Arc<Self>, due: u64, context: &Context<'_>) -> Seat {
        self.sit(context, |_| due)
    }

    /// The turn of a read that was due at this tick. Asked and told under the cache's lock, so that one of those who are due together asks.
    pub(crate) fn turn(&self, due: u64) -> Turn {
        let mut room = lock(&self.room);
        if room.answered.is_some_and(|answered| answered >= due) {
            return Turn::Settled;
        }
        if let Some(next) = room.asked.map(|asked| asked + self.wait).filter(|next| *next > room.now) {
            return Turn::Later(next);
        }
        room.asked = Some(room.now);
        Turn::Ask
    }

    /// The registry has answered, or failed.
    pub(crate) fn answered(&self) {
        let mut room = lock(&self.room);
        room.answered = Some(room.now);
    }

    fn sit(self: &Arc<Self>, context: &Context<'_>, due: impl FnOnce(&Room) -> u64) -> Seat {
        let waker = context.waker().clone();
        let mut room = lock(&self.room);
        let due = due(&room);
        let key = room.seats.insert(Sitting { due, waker });
        room.quiet = 0;
        let starts = !std::mem::replace(&mut room.ticks, true);
        drop(room);
        if starts {
            self.start();
        }
        Seat { tick: Arc::clone(self), key }
    }

    /// The task belongs to the runtime of the read that started it. If that is shut down, the next read starts another one.
    fn start(self: &Arc<Self>) {
        let ticking = Ticking { tick: Arc::clone(self), has_stopped: false };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(ticking.run());
        }
    }
}

impl Room {
    /// One tick later. Returns who is due.
    fn advance(&mut self) -> Vec<Waker> {
        self.now += 1;
        self.quiet = if self.seats.is_empty() { self.quiet + 1 } else { 0 };
        let now = self.now;
        self.seats.iter().filter(|(_, sitting)| sitting.due == now).map(|(_, sitting)| sitting.waker.clone()).collect()
    }
}

impl Seat {
    /// Ready when the read has waited for long, with the tick at which it had.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<u64> {
        let mut room = lock(&self.tick.room);
        let now = room.now;
        let sitting = &mut room.seats[self.key];
        if sitting.due <= now {
            return Poll::Ready(sitting.due);
        }
        if sitting.waker.will_wake(context.waker()) {
            return Poll::Pending;
        }
        drop(room);
        self.be_woken_by(context.waker().clone());
        Poll::Pending
    }

    /// A waker is cloned and dropped outside of the lock: it is anybody's code.
    fn be_woken_by(&self, waker: Waker) {
        let mut room = lock(&self.tick.room);
        let before = std::mem::replace(&mut room.seats[self.key].waker, waker);
        let is_due = room.seats[self.key].due <= room.now;
        let due = is_due.then(|| room.seats[self.key].waker.clone());
        drop(room);
        drop(before);
        due.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let sitting = lock(&self.tick.room).seats.remove(self.key);
        drop(sitting);
    }
}

/// Says that nobody ticks when it goes, also with its runtime.
struct Ticking {
    tick: Arc<Tick>,
    has_stopped: bool,
}

impl Ticking {
    async fn run(mut self) {
        let length = self.tick.length;
        let mut ticks = interval_at(Instant::now() + length, length);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.has_stopped {
            ticks.tick().await;
            self.tick();
        }
    }

    fn tick(&mut self) {
        let mut room = lock(&self.tick.room);
        let due = room.advance();
        if room.quiet > self.tick.wait {
            room.ticks = false;
            self.has_stopped = true;
        }
        drop(room);
        due.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        if !self.has_stopped {
            lock(&self.tick.room).ticks = false;
        }
    }
}
