//! The clock of this machine, for what is not decided by it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time since 1970.
#[allow(clippy::disallowed_methods, reason = "no decision depends on it")]
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
