//! The only code that reads the clock of the operating system.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that is as far behind the last time of a limiter was set back.
const STEP: u64 = 1_000;

/// Returns the wall-clock time in microseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)]
#[inline]
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_secs() * 1_000_000 + u64::from(elapsed.subsec_micros())
}

/// Returns the time for a change of a limiter in memory under the lock of its state, whose last time is `last`, with `skew`.
///
/// The clocks of two processors may differ by a little. To the limiter that would be a clock that ran backwards, which it
/// corrects for ever. So its time stands still instead.
#[inline]
pub(crate) fn for_state(read: u64, last: u64, skew: u64) -> u64 {
    let behind = last.saturating_sub(read + skew);
    if behind < STEP { read + behind } else { read }
}

/// Returns the monotonic time, for the deadlines of calls.
#[allow(clippy::disallowed_methods)]
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_behind_the_limiters_time_stands_still_and_a_step_is_a_step() {
        let (last, skew) = (10_000_000, 3_000_000);
        assert_eq!(for_state(7_000_001, last, skew), 7_000_001);
        assert_eq!(for_state(6_999_999, last, skew), 7_000_000, "its time is the last");
        assert_eq!(for_state(6_999_001, last, skew), 7_000_000);
        assert_eq!(for_state(6_999_000, last, skew), 6_999_000, "the skew grows by a millisecond");
        assert_eq!(for_state(0, last, skew), 0);
    }
}
