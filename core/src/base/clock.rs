//! The one place that reads the clock of the operating system.

use std::time::Instant;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch, for the memory store, which has no server to ask.
#[allow(clippy::disallowed_methods)]
#[inline]
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_secs() * 1_000_000 + u64::from(elapsed.subsec_micros())
}

/// For deadlines of calls: never runs backwards.
#[allow(clippy::disallowed_methods)]
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}
