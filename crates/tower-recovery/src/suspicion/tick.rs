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

    /// The waker before is dropped outside of the lock: that is anybody's code.
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    impl Tick {
        /// As the task does, and nobody else.
        fn advance(&self) {
            let due = lock(&self.room).advance();
            due.into_iter().for_each(Waker::wake);
        }
    }

    #[test]
    fn ticks_add_up_to_the_wait_and_none_is_longer_than_it_may_be() {
        let milliseconds = (1..2_000).chain([6_399, 6_400, 6_401, 7_001, 3_600_000, 604_799_999, 604_800_000]);
        for wait in milliseconds.map(Duration::from_millis) {
            for wait in [wait, wait.saturating_sub(Duration::from_nanos(1)).max(SHORTEST)] {
                let tick = Tick::new(wait);
                assert!(tick.length * u32::try_from(tick.wait).unwrap() >= wait, "{wait:?}: never less");
                assert!(tick.length <= LONGEST.max(wait / 64), "{wait:?}: {:?}", tick.length);
                assert!(tick.length >= SHORTEST && tick.wait <= 65, "{wait:?}: {:?}", tick.length);
            }
        }
    }

    #[test]
    fn those_who_are_due_together_ask_once_and_are_settled_together() {
        let tick = Tick::new(Duration::from_secs(1));
        (0..20).for_each(|_| tick.advance());
        assert!(matches!(tick.turn(20), Turn::Ask), "nobody has asked yet");
        assert!(matches!(tick.turn(20), Turn::Later(30)), "whoever asked has left, and nobody answered");
        tick.answered();
        assert!(matches!(tick.turn(20), Turn::Settled));

        tick.advance();
        assert!(matches!(tick.turn(21), Turn::Later(30)), "that answer was there before this one was due");
        (0..9).for_each(|_| tick.advance());
        assert!(matches!(tick.turn(30), Turn::Ask));
        assert!(matches!(tick.turn(19), Turn::Settled), "however late it is polled");
    }

    #[tokio::test(start_paused = true)]
    async fn a_seat_is_woken_at_its_tick_and_at_no_other() {
        let tick = Arc::new(Tick::new(Duration::from_secs(1)));
        // Nobody ticks but this test.
        lock(&tick.room).ticks = true;
        for _ in 0..3 {
            let mut seat = None;
            let begun = lock(&tick.room).now;
            let mut woken = tokio_test::task::spawn(poll_fn(|context| {
                seat.get_or_insert_with(|| tick.wait(context)).poll(context)
            }));
            assert!(woken.poll().is_pending());
            for _ in 0..tick.wait {
                tick.advance();
                assert!(!woken.is_woken());
                // Also with another waker, or none that is new.
                assert!(woken.poll().is_pending());
            }
            tick.advance();
            assert!(woken.is_woken());
            assert_eq!(woken.poll(), Poll::Ready(begun + tick.wait + 1));
        }
        assert!(lock(&tick.room).seats.is_empty(), "a seat is given up");
    }
}
