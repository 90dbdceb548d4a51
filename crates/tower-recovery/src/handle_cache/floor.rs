//! How long the next resolve has to wait. Pure: `now` and chance are arguments.

use tokio::time::{Duration, Instant};

use crate::clock;

/// The least time between the end of one resolve and the start of the next.
///
/// It grows by one `step` with each resolve in a row that did not help (it failed, or it found the instance that had
/// just been evicted), up to `ceiling`, and falls back to one `step` when another instance is found, or when the one that was found answers
/// a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Floor {
    pub(super) step: Duration,
    pub(super) ceiling: Duration,
    /// Whether chance adds to it.
    pub(super) spread: bool,
}

impl Floor {
    /// Whether the last resolve ended so long ago that the pause it asked for would be over whatever it was: what went before it tells
    /// nothing any more.
    pub(super) fn is_forgotten(self, ended: Option<Instant>, now: Instant) -> bool {
        ended.is_none_or(|ended| now >= clock::later(ended, self.ceiling.max(self.step)))
    }

    /// When the next resolve may start, if not at once. `chance` from 0 to 1 adds up to a quarter of the pause, so that a fleet that lost
    /// its registry at one moment does not come back to it at one moment.
    pub(super) fn next_start(self, ended: Option<Instant>, strikes: u32, now: Instant, chance: f64) -> Option<Instant> {
        let pause = self.step.saturating_mul(strikes.max(1)).min(self.ceiling);
        let spread = if self.spread { clock::part(pause, 1.0 + chance.clamp(0.0, 1.0) / 4.0) } else { pause };
        ended.map(|ended| clock::later(ended, spread)).filter(|start| *start > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor { step: Duration::from_millis(100), ceiling: Duration::from_millis(250), spread: true };

    #[tokio::test(start_paused = true)]
    async fn the_first_resolve_waits_for_nothing() {
        assert_eq!(FLOOR.next_start(None, 7, Instant::now(), 1.0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_resolve_that_helped_still_leaves_one_step() {
        let ended = Instant::now();
        assert_eq!(FLOOR.next_start(Some(ended), 0, ended, 0.0), Some(ended + FLOOR.step));
        assert_eq!(FLOOR.next_start(Some(ended), 0, ended + FLOOR.step, 0.0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_by_a_step_a_strike_up_to_the_ceiling() {
        let ended = Instant::now();
        let pauses: Vec<_> = [1, 2, 3, u32::MAX]
            .map(|strikes| FLOOR.next_start(Some(ended), strikes, ended, 0.0).unwrap() - ended)
            .into();
        assert_eq!(pauses, [100, 200, 250, 250].map(Duration::from_millis));
    }

    #[tokio::test(start_paused = true)]
    async fn what_went_before_is_forgotten_once_the_longest_pause_is_over() {
        let ended = Instant::now();
        let nearly = Duration::from_nanos(1);
        assert!(FLOOR.is_forgotten(None, ended));
        assert!(!FLOOR.is_forgotten(Some(ended), ended + FLOOR.ceiling - nearly));
        assert!(FLOOR.is_forgotten(Some(ended), ended + FLOOR.ceiling));
        let low = Floor { ceiling: Duration::ZERO, ..FLOOR };
        assert!(
            !low.is_forgotten(Some(ended), ended + low.step - nearly),
            "a ceiling below the step counts as the step"
        );
        assert!(low.is_forgotten(Some(ended), ended + low.step));
    }

    #[tokio::test(start_paused = true)]
    async fn chance_adds_up_to_a_quarter_and_takes_nothing_away() {
        let ended = Instant::now();
        for (chance, pause) in [(-1.0, 100), (0.0, 100), (0.5, 112), (1.0, 125), (7.0, 125)] {
            let start = FLOOR.next_start(Some(ended), 1, ended, chance).unwrap();
            assert_eq!((start - ended).as_millis(), pause, "{chance}");
            let exact = Floor { spread: false, ..FLOOR }.next_start(Some(ended), 1, ended, chance).unwrap();
            assert_eq!(exact - ended, FLOOR.step);
        }
    }
}
