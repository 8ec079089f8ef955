//! `pg_statistics`: the counters of a limiter over all processes.

use std::mem::MaybeUninit;

use paddlegate_core::{Answer, Operation, Statistics as CoreStatistics};

use crate::call::{run, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;

/// The counters of a limiter over all processes, and its current leases and tickets. Times are
/// sums.
#[derive(Default)]
#[repr(C)]
pub struct Statistics {
    /// Granted calls (leases, for a concurrency limit).
    pub granted: i64,
    /// Refused calls, and waits that timed out.
    pub refused: i64,
    /// Grants that waited in the queue; the others were immediate.
    pub waited: i64,
    /// The time for which those grants waited.
    pub wait_time_us: i64,
    /// Charged units, after corrections.
    pub units: i64,
    /// Settled permits.
    pub corrections: i64,
    /// The time for which released leases were held.
    pub held_time_us: i64,
    /// Leases that their holder released after their end.
    pub overages: i64,
    /// Leases that had ended without a release when another lease was granted.
    pub reclaimed: i64,
    /// Tickets that lost their queue position because they were not claimed in time.
    pub lapsed: i64,
    /// Current leases.
    pub leases: i64,
    /// Current tickets in the queue.
    pub tickets: i64,
    /// Calls that only "shadow" let pass, see pg_limiter_with_mode; they count neither as granted nor
    /// as refused.
    pub shadow_refused: i64,
}

impl From<CoreStatistics> for Statistics {
    fn from(core: CoreStatistics) -> Self {
        let number = |value| number(Some(value));
        Self {
            granted: number(core.granted),
            refused: number(core.refused),
            waited: number(core.waited),
            wait_time_us: number(core.wait_time.0),
            units: number(core.units),
            corrections: number(core.corrections),
            held_time_us: number(core.held_time.0),
            overages: number(core.overages),
            reclaimed: number(core.reclaimed),
            lapsed: number(core.lapsed),
            leases: number(core.leases),
            tickets: number(core.tickets),
            shadow_refused: number(core.shadow_refused),
        }
    }
}

/// Writes the counters of a limiter over all processes, and its current leases and tickets.
///
/// A keyed limiter has the counters of all its keys, and no leases and tickets: call it with the
/// handle that has no key.
#[unsafe(no_mangle)]
pub extern "C" fn pg_stats(
    limiter: *const LimiterHandle,
    statistics: Option<&mut MaybeUninit<Statistics>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("statistics", statistics, Statistics::default, error, || match run(limiter, Operation::Statistics)? {
        Answer::Statistics(statistics) => Ok((*statistics).into()),
        other => Err(unexpected(&other)),
    })
}
