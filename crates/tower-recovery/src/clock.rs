//! Sums of moments and durations that cannot overflow.

use tokio::time::{Duration, Instant};

/// Thirty years: longer than any process waits, and short enough to be added to any moment.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The moment so much later, or thirty years later if that is less. Settings may be as large as a `Duration` can be.
pub(crate) fn later(from: Instant, by: Duration) -> Instant {
    from + by.min(FAR)
}

/// That part of the duration, which is cut to thirty years first: a product of the largest `Duration` would panic.
pub(crate) fn part(of: Duration, factor: f64) -> Duration {
    of.min(FAR).mul_f64(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_duration_does_not_overflow() {
        let now = Instant::now();
        assert_eq!(FAR.as_secs(), 946_080_000, "thirty years");
        assert_eq!(later(now, Duration::MAX), now + FAR);
        assert_eq!(later(now, Duration::from_secs(1)), now + Duration::from_secs(1));
        assert_eq!(part(Duration::MAX, 1.25), FAR.mul_f64(1.25));
        assert_eq!(part(Duration::from_secs(1), 0.5), Duration::from_millis(500));
    }
}
