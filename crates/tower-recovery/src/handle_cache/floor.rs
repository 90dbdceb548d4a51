//! How long the next resolve has to wait. Pure: `now` and chance are arguments.

use tokio::time::{Duration, Instant};

/// The least time between one answer of the resolver and the next resolve.
///
/// It grows by one `step` with each resolve in a row that did not help (it failed, or it found the instance that had
/// just been evicted), up to `ceiling`, and falls back to one `step` when another instance is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Floor {
    pub(super) step: Duration,
    pub(super) ceiling: Duration,
}

impl Floor {
    /// When the next resolve may start, if not at once. `chance` from 0 to 1 adds up to a quarter of the pause, so that a fleet that lost
    /// its registry at one moment does not come back to it at one moment.
    pub(super) fn next_start(
        self,
        answered: Option<Instant>,
        strikes: u32,
        now: Instant,
        chance: f64,
    ) -> Option<Instant> {
        let pause = self.step.saturating_mul(strikes.max(1)).min(self.ceiling);
        let spread = pause.mul_f64(chance.clamp(0.0, 1.0) / 4.0);
        answered.map(|answered| answered + pause + spread).filter(|start| *start > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor { step: Duration::from_millis(100), ceiling: Duration::from_millis(250) };

    #[tokio::test(start_paused = true)]
    async fn the_first_resolve_waits_for_nothing() {
        assert_eq!(FLOOR.next_start(None, 7, Instant::now(), 1.0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_resolve_that_helped_still_leaves_one_step() {
        let answered = Instant::now();
        assert_eq!(FLOOR.next_start(Some(answered), 0, answered, 0.0), Some(answered + FLOOR.step));
        assert_eq!(FLOOR.next_start(Some(answered), 0, answered + FLOOR.step, 0.0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_by_a_step_a_strike_up_to_the_ceiling() {
        let answered = Instant::now();
        let pauses: Vec<_> = [1, 2, 3, u32::MAX]
            .map(|strikes| FLOOR.next_start(Some(answered), strikes, answered, 0.0).unwrap() - answered)
            .into();
        assert_eq!(pauses, [100, 200, 250, 250].map(Duration::from_millis));
    }

    #[tokio::test(start_paused = true)]
    async fn chance_adds_up_to_a_quarter_and_takes_nothing_away() {
        let answered = Instant::now();
        for (chance, pause) in [(-1.0, 100), (0.0, 100), (0.5, 112), (1.0, 125), (7.0, 125)] {
            let start = FLOOR.next_start(Some(answered), 1, answered, chance).unwrap();
            assert_eq!((start - answered).as_millis(), pause, "{chance}");
        }
    }
}
