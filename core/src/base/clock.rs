//! The only code that reads the clock of the operating system.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that is so much behind the last time of a limiter was set back.
const STEP: u64 = 1_000;

/// Returns the wall-clock time in microseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)]
#[inline]
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_secs() * 1_000_000 + u64::from(elapsed.subsec_micros())
}

/// Returns the same for a call in memory, by the processor's counter where that is faster: a few microseconds away from
/// [`now`], and for up to a millisecond after somebody has set the clock as far as it was set.
#[inline]
pub(crate) fn estimate() -> u64 {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return super::counter_clock::now();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    return now();
}

/// Returns the time for a change of a limiter in memory under the lock of its state, whose last time is `last`, with `skew`.
///
/// What was just read may be a little behind: the thread was interrupted, or the counters of processors differ. To the limiter that
/// would be a clock that ran backwards, which it corrects for ever. So the clock is read afresh, and if that is a little behind too,
/// the limiter's time stands still.
#[inline]
pub(crate) fn for_state(read: u64, last: u64, skew: u64) -> u64 {
    if cfg!(target_family = "wasm") || read + skew >= last { read } else { caught_up(now(), last, skew) }
}

/// Returns a time that was read afresh, or if that is a little behind, one at which the limiter's time is its last.
#[cold]
fn caught_up(now: u64, last: u64, skew: u64) -> u64 {
    if now + skew + STEP > last {
        return now.max(last.saturating_sub(skew));
    }
    // The clock was set back. An estimate of before would be ahead of it, and the new skew would be added to that.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    super::counter_clock::expire();
    now
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
        assert_eq!(caught_up(7_000_001, last, skew), 7_000_001);
        assert_eq!(caught_up(6_999_999, last, skew), 7_000_000, "its time is the last");
        assert_eq!(caught_up(6_999_001, last, skew), 7_000_000);
        assert_eq!(caught_up(6_999_000, last, skew), 6_999_000, "the skew grows by a millisecond");
        assert_eq!(caught_up(0, last, skew), 0);
        assert_eq!(for_state(7_000_000, last, skew), 7_000_000);
        let read = now();
        assert!(for_state(read - 500, read, 0) >= read, "a time of before another call is read again");
    }
}
