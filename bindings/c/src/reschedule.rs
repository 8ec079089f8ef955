//! The reschedules of a job that is over the limit.

use paddlegate_core::{Reschedule, backoff};

use crate::decision::number;

/// Returns the delay in microseconds of a job that was over the limit overrated times, this time
/// included.
///
/// draw is a random number from 0 to 299. A number out of its range counts as the nearest number in
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_backoff(overrated: i64, draw: i64) -> i64 {
    number(Some(backoff(nearest(overrated), nearest(draw)).0))
}

/// Returns the new overrated of a job that was over the limit overrated times before and is over it
/// again; -1 when it was rescheduled cap times and gives up.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reschedule_next(overrated: i64, cap: i64) -> i64 {
    number(Reschedule { cap: nearest(cap) }.next(nearest(overrated)).map(u64::from))
}

fn nearest(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}
