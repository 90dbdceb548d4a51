//! How fast messages may go out. Pure: `now` is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// How many messages may go out a second, and at once after a rest.
///
/// The server ends the connection of a client that sends more, and with it whatever waits for an answer there. Hypha 0.21.137 takes 200 a second, and 2,000 at once
/// (`HYPHA_WS_MSG_RATE_LIMIT`, `HYPHA_WS_MSG_BURST_LIMIT`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) per_second: u32,
    pub(crate) at_once: u32,
}

/// What is left of it over one connection.
#[derive(Debug)]
pub(super) struct Pacer {
    pace: Pace,
    /// In messages.
    left: f64,
    counted_at: Instant,
}

impl Pacer {
    pub(super) fn new(pace: Pace, now: Instant) -> Self {
        Self { pace, left: f64::from(pace.at_once), counted_at: now }
    }

    /// Whether there is a place for a message, or how long it is until there is one.
    pub(super) fn place(&mut self, now: Instant) -> Result<(), Duration> {
        let rested = now.saturating_duration_since(self.counted_at).as_secs_f64() * f64::from(self.pace.per_second);
        self.left = (self.left + rested).min(f64::from(self.pace.at_once));
        self.counted_at = now;
        if self.left >= 1.0 {
            return Ok(());
        }
        // Rounded up, so that the place is there when the time is over.
        Err(Duration::from_secs_f64((1.0 - self.left) / f64::from(self.pace.per_second)) + Duration::from_micros(1))
    }

    /// A message goes out, in the place that there was.
    pub(super) fn take(&mut self) {
        self.left -= 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_may_go_at_once_goes_and_the_rest_goes_as_time_passes() {
        let began = Instant::now();
        let mut pacer = Pacer::new(Pace { per_second: 10, at_once: 3 }, began);
        for _ in 0..3 {
            assert_eq!(pacer.place(began), Ok(()));
            pacer.take();
        }
        let wait = pacer.place(began).unwrap_err();
        assert!((Duration::from_millis(100)..Duration::from_millis(101)).contains(&wait), "{wait:?}");
        assert_eq!(pacer.place(began + wait), Ok(()));
        pacer.take();
        assert!(pacer.place(began + wait).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_rest_saves_no_more_than_what_may_go_at_once() {
        let began = Instant::now();
        let mut pacer = Pacer::new(Pace { per_second: 10, at_once: 3 }, began);
        let later = began + Duration::from_secs(3600);
        assert_eq!(pacer.place(later), Ok(()));
        (0..3).for_each(|_| pacer.take());
        assert!(pacer.place(later).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_counts_in_the_same_way_never_sees_too_many() {
        let mut now = Instant::now();
        let pace = Pace { per_second: 190, at_once: 1900 };
        let (mut ours, mut theirs) = (Pacer::new(pace, now), Pacer::new(Pace { per_second: 200, at_once: 2000 }, now));
        for _ in 0..10_000 {
            while let Err(wait) = ours.place(now) {
                now += wait;
            }
            assert_eq!(theirs.place(now), Ok(()));
            ours.take();
            theirs.take();
        }
    }
}
