//! When a job comes again that was over the limit.

use paddlegate_core::{Reschedule, backoff};

use crate::decision::number;

/// How long until a job comes again that was over the limit overrated times, this time included.
///
/// draw is a random number from 0 to 299; numbers out of their range count as the nearest in it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_backoff(overrated: i64, draw: i64) -> i64 {
    number(Some(backoff(nearest(overrated), nearest(draw)).0))
}

/// The new overrated of a job that was over the limit so often before and now again; -1 when it has
/// come cap times and gives up.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reschedule_next(overrated: i64, cap: i64) -> i64 {
    number(Reschedule { cap: nearest(cap) }.next(nearest(overrated)).map(u64::from))
}

fn nearest(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}
