//! How often it is said that a stream is alive, or is waited for. Pure.

use tokio::time::{Duration, Instant};

/// The last words about a stream's life.
#[derive(Clone, Copy, Debug)]
pub(in crate::stream_replacement) struct Pulse {
    said_active: Option<Instant>,
    said_waiting: Instant,
}

impl Pulse {
    const ACTIVE_EVERY: Duration = Duration::from_secs(30);
    const WAITING_EVERY: Duration = Duration::from_secs(120);

    pub(in crate::stream_replacement) fn new(now: Instant) -> Self {
        Self { said_active: None, said_waiting: now }
    }

    /// Whether a sign of life at this moment is to be told of.
    pub(in crate::stream_replacement) fn is_active(&mut self, now: Instant) -> bool {
        let due = self.said_active.is_none_or(|said| now.saturating_duration_since(said) >= Self::ACTIVE_EVERY);
        if due {
            self.said_active = Some(now);
        }
        due
    }

    /// When it is to be said that the stream is waited for, if there is no sign of life after this one.
    pub(in crate::stream_replacement) fn deadline(&self, last_sign: Instant) -> Instant {
        self.said_waiting.max(last_sign) + Self::WAITING_EVERY
    }

    /// How long there was no sign of life, if that is to be said now.
    pub(in crate::stream_replacement) fn is_waiting(&mut self, last_sign: Instant, now: Instant) -> Option<Duration> {
        if now < self.deadline(last_sign) {
            return None;
        }
        self.said_waiting = now;
        Some(now.saturating_duration_since(last_sign))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn life_is_told_of_at_most_every_thirty_seconds() {
        let start = Instant::now();
        let mut pulse = Pulse::new(start);
        let told: Vec<_> = (0..=90).filter(|second| pulse.is_active(start + seconds(*second))).collect();
        assert_eq!(told, [0, 30, 60, 90]);
    }

    #[test]
    fn waiting_is_told_of_every_two_minutes_since_the_last_sign() {
        let start = Instant::now();
        let mut pulse = Pulse::new(start);
        let sign = start + seconds(5);
        let told: Vec<_> = (5..=400).filter_map(|second| pulse.is_waiting(sign, start + seconds(second))).collect();
        assert_eq!(told, [seconds(120), seconds(240), seconds(360)]);
        assert_eq!(pulse.deadline(start + seconds(400)), start + seconds(520), "a sign of life puts it off");
    }
}
