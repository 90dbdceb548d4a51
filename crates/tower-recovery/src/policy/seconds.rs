//! The bounds that every time in a policy has.

use std::time::Duration;

use crate::InvalidSetting;

/// Seven days, in seconds. 16 times as long is still far from what a moment can be moved by, and nanoseconds of it are exact in an `f64`
/// (up to 104 days), so that a policy comes back as it was written.
pub(super) const MOST: u32 = 7 * 24 * 60 * 60;

/// The same as a duration.
pub(super) const LONGEST: Duration = Duration::from_secs(MOST as u64);

/// Checks a time that was set in code.
pub(super) fn check(field: &'static str, time: Duration) -> Result<Duration, InvalidSetting> {
    match time {
        Duration::ZERO => Err(out_of_bounds(field, 0.0)),
        time if time > LONGEST => Err(out_of_bounds(field, time.as_secs_f64())),
        time => Ok(time),
    }
}

/// The time that a number in a file stands for.
#[cfg(feature = "serde")]
pub(super) fn read(field: &'static str, seconds: f64) -> Result<Duration, InvalidSetting> {
    if seconds > 0.0 && seconds <= f64::from(MOST) {
        // What is above zero stays above zero.
        Ok(Duration::from_secs_f64(seconds).max(Duration::from_nanos(1)))
    } else {
        Err(out_of_bounds(field, seconds))
    }
}

fn out_of_bounds(field: &'static str, seconds: f64) -> InvalidSetting {
    InvalidSetting::new(field, seconds, format!("above 0 and at most {MOST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANOSECOND: Duration = Duration::from_nanos(1);

    #[test]
    fn a_time_is_above_zero_and_a_week_at_the_most() {
        for time in [NANOSECOND, LONGEST] {
            assert_eq!(check("idle_seconds", time), Ok(time));
        }
        for (time, value) in
            [(Duration::ZERO, "0"), (LONGEST + NANOSECOND, "604800.000000001"), (2 * LONGEST, "1209600")]
        {
            let message = format!("idle_seconds is {value}, but it must be above 0 and at most 604800");
            assert_eq!(check("idle_seconds", time).unwrap_err().to_string(), message);
        }
        check("idle_seconds", Duration::MAX).unwrap_err();
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_number_is_finite_above_zero_and_a_week_at_the_most() {
        for (seconds, time) in
            [(0.25, Duration::from_millis(250)), (f64::MIN_POSITIVE, NANOSECOND), (604_800.0, LONGEST)]
        {
            assert_eq!(read("idle_seconds", seconds), Ok(time));
        }
        for (seconds, value) in [
            (0.0, "0"),
            (-0.5, "-0.5"),
            (604_800.001, "604800.001"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            let message = format!("idle_seconds is {value}, but it must be above 0 and at most 604800");
            assert_eq!(read("idle_seconds", seconds).unwrap_err().to_string(), message);
        }
    }
}
