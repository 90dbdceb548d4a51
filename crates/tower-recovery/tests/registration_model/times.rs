//! The times of the probe: its defaults.

use std::time::Duration;

pub(crate) const INTERVAL: Duration = Duration::from_secs(60);
pub(crate) const LOOK_UP: Duration = Duration::from_secs(10);
pub(crate) const SPREAD: Duration = Duration::from_secs(20);
pub(crate) const GRACE: Duration = Duration::from_secs(30);
pub(crate) const CLOSE: Duration = Duration::from_secs(5);
pub(crate) const STEP: Duration = Duration::from_secs(10);
pub(crate) const FLOOR: Duration = Duration::from_secs(5);
/// Half of a second, by chance, and no less before any try.
pub(crate) const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
/// By how much a timer may be late.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// How long after the last step of a script the process is registered, or knows that somebody else is, at the latest: the next look-up begins within an
/// interval and a grace; then come the spread and the second look-up, which may also wait for an interval after a rebuild that began before the look-up did;
/// and then the steps and the look-up that confirms them.
pub(crate) const fn bound() -> Duration {
    let looking = INTERVAL.saturating_add(GRACE).saturating_add(LOOK_UP).saturating_add(SPREAD).saturating_add(LOOK_UP);
    looking.saturating_add(CLOSE).saturating_add(STEP).saturating_add(STEP).saturating_add(LOOK_UP)
}
