//! The only code that reads the clock of the operating system.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Returns the wall-clock time in microseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)]
#[inline]
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_secs() * 1_000_000 + u64::from(elapsed.subsec_micros())
}

/// Returns the monotonic time, for the deadlines of calls.
#[allow(clippy::disallowed_methods)]
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}
