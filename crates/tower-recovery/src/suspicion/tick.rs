//! One coarse tick for all reads that wait.
//!
//! Each read takes a place in the ring at the tick at which it will have waited for long, and every tick wakes one place. The task that ticks is started by
//! the first read that waits, and ends when none has come for a whole turn of the ring: an idle process does not tick.

use std::sync::Arc;

use tokio::{
    runtime::Handle,
    sync::{Notify, futures::OwnedNotified},
    time::{Duration, Instant, MissedTickBehavior, interval_at},
};

use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// The longest tick while it is not below a sixty-fourth of the wait.
const LONGEST: Duration = Duration::from_millis(100);
const SHORTEST: Duration = Duration::from_millis(1);

pub(crate) struct Tick {
    length: Duration,
    /// In ticks. A read that comes between two of them waits up to one tick more, and never less.
    wait: u64,
    now: AtomicU64,
    ring: Box<[Arc<Notify>]>,
    /// Whether a read has come since the ring began its turn.
    used: AtomicBool,
    runs: AtomicBool,
    /// The tick at which the registry was asked last; 0 for never.
    asked: AtomicU64,
    /// The tick at which it answered last, or failed, whoever had asked.
    answered: AtomicU64,
}

/// A read's place.
pub(crate) struct Place {
    pub(crate) due: u64,
    pub(crate) woken: OwnedNotified,
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
        // A place for each tick of the wait, for the one that has begun, and for the one that is being woken.
        let ring = (0..wait.saturating_add(2)).map(|_| Arc::new(Notify::new())).collect();
        Self {
            length,
            wait,
            // So that 0 is never a tick at which somebody could have asked.
            now: AtomicU64::new(1),
            ring,
            used: AtomicBool::new(false),
            runs: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// A place for a read that begins to wait now.
    pub(crate) fn wait(self: &Arc<Self>) -> Place {
        self.place(self.now().saturating_add(self.wait + 1))
    }

    /// The turn of a read that was due at this tick. Asked and told under the cache's lock, so that one of those who are due together asks.
    pub(crate) fn turn(&self, due: u64) -> Turn {
        if self.answered.load(Ordering::Relaxed) >= due {
            return Turn::Settled;
        }
        let now = self.now();
        let asked = self.asked.load(Ordering::Relaxed);
        let next = asked.saturating_add(self.wait);
        if asked != 0 && now < next {
            return Turn::Later(next);
        }
        self.asked.store(now, Ordering::Relaxed);
        Turn::Ask
    }

    /// The registry has answered, or failed.
    pub(crate) fn answered(&self) {
        self.answered.store(self.now(), Ordering::Relaxed);
    }

    pub(crate) fn is_due(&self, place: u64) -> bool {
        self.now() >= place
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }

    /// A place for a read that waits until this tick.
    pub(crate) fn place(self: &Arc<Self>, due: u64) -> Place {
        let woken = Arc::clone(self.slot(due)).notified_owned();
        self.used.store(true, Ordering::SeqCst);
        if !self.runs.load(Ordering::SeqCst) && !self.runs.swap(true, Ordering::SeqCst) {
            self.start();
        }
        Place { due, woken }
    }

    fn slot(&self, tick: u64) -> &Arc<Notify> {
        let slots = self.ring.len() as u64;
        &self.ring[usize::try_from(tick % slots).unwrap_or_default()]
    }

    /// The task belongs to the runtime of the read that started it. If that is shut down, the next read starts another one.
    fn start(self: &Arc<Self>) {
        let running = Running { tick: Arc::clone(self), has_stopped: false };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(running.run());
        }
    }

    fn tick(&self) {
        let now = self.now.fetch_add(1, Ordering::AcqRel) + 1;
        self.slot(now).notify_waiters();
    }

    /// Whether nobody came during a turn that is over.
    fn is_idle(&self) -> bool {
        !self.used.swap(false, Ordering::SeqCst)
    }
}

/// Says that nobody ticks when it goes, also with its runtime.
struct Running {
    tick: Arc<Tick>,
    has_stopped: bool,
}

impl Running {
    async fn run(mut self) {
        let tick = Arc::clone(&self.tick);
        let mut ticks = interval_at(Instant::now() + tick.length, tick.length);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.has_stopped {
            for _ in 0..tick.ring.len() {
                ticks.tick().await;
                tick.tick();
            }
            if tick.is_idle() {
                self.stop();
            }
        }
    }

    /// A read that comes meanwhile says so before it looks whether somebody ticks: so one of the two sees the other.
    fn stop(&mut self) {
        self.tick.runs.store(false, Ordering::SeqCst);
        let others_tick = || self.tick.runs.swap(true, Ordering::SeqCst);
        self.has_stopped = !self.tick.used.load(Ordering::SeqCst) || others_tick();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_stopped {
            self.tick.runs.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_add_up_to_the_wait_and_none_is_longer_than_it_may_be() {
        let milliseconds = (1..2_000).chain([6_399, 6_400, 6_401, 7_001, 3_600_000, 604_799_999, 604_800_000]);
        for wait in milliseconds.map(Duration::from_millis) {
            for wait in [wait, wait.saturating_sub(Duration::from_nanos(1)).max(SHORTEST)] {
                let tick = Tick::new(wait);
                assert!(tick.length * u32::try_from(tick.wait).unwrap() >= wait, "{wait:?}: never less");
                assert!(tick.length <= LONGEST.max(wait / 64), "{wait:?}: {:?}", tick.length);
                assert!(tick.length >= SHORTEST && tick.ring.len() <= 67, "{wait:?}: {:?}", tick.length);
            }
        }
    }

    #[test]
    fn those_who_are_due_together_ask_once_and_are_settled_together() {
        let tick = Tick::new(Duration::from_secs(1));
        (0..20).for_each(|_| tick.tick());
        assert!(matches!(tick.turn(21), Turn::Ask), "nobody has asked yet");
        assert!(matches!(tick.turn(21), Turn::Later(31)), "whoever asked has left, and nobody answered");
        tick.answered();
        assert!(matches!(tick.turn(21), Turn::Settled));

        tick.tick();
        assert!(matches!(tick.turn(22), Turn::Later(31)), "that answer was there before this one was due");
        (0..9).for_each(|_| tick.tick());
        assert!(matches!(tick.turn(31), Turn::Ask));
        assert!(matches!(tick.turn(20), Turn::Settled), "however late it is polled");
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_woken_at_its_tick_and_at_no_other() {
        let tick = Arc::new(Tick::new(Duration::from_secs(1)));
        // Nobody ticks but this test.
        tick.runs.store(true, Ordering::SeqCst);
        for _ in 0..3 * tick.ring.len() {
            let Place { due, woken } = tick.wait();
            let mut woken = tokio_test::task::spawn(woken);
            assert_eq!(due - tick.now(), tick.wait + 1);
            while tick.now() < due {
                assert!(!tick.is_due(due) && woken.poll().is_pending());
                tick.tick();
            }
            assert!(tick.is_due(due) && woken.is_woken() && woken.poll().is_ready());
        }
    }
}
