//! How long the next resolve has to wait. Pure: it takes `now` from whoever calls.

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
    /// When the next resolve may start, if not at once.
    pub(super) fn next_start(self, answered: Option<Instant>, strikes: u32, now: Instant) -> Option<Instant> {
        let pause = self.step.saturating_mul(strikes.max(1)).min(self.ceiling);
        answered.map(|answered| answered + pause).filter(|start| *start > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor { step: Duration::from_millis(100), ceiling: Duration::from_millis(250) };

    #[tokio::test(start_paused = true)]
    async fn the_first_resolve_waits_for_nothing() {
        assert_eq!(FLOOR.next_start(None, 7, Instant::now()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_resolve_that_helped_still_leaves_one_step() {
        let answered = Instant::now();
        assert_eq!(FLOOR.next_start(Some(answered), 0, answered), Some(answered + FLOOR.step));
        assert_eq!(FLOOR.next_start(Some(answered), 0, answered + FLOOR.step), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_by_a_step_a_strike_up_to_the_ceiling() {
        let answered = Instant::now();
        let pauses: Vec<_> = [1, 2, 3, u32::MAX]
            .map(|strikes| FLOOR.next_start(Some(answered), strikes, answered).unwrap() - answered)
            .into();
        assert_eq!(pauses, [100, 200, 250, 250].map(Duration::from_millis));
    }
}
