//! `pg_statistics`: what a limiter has done in all processes.

use std::mem::MaybeUninit;

use paddlegate_core::{Answer, Operation, Statistics as CoreStatistics};

use crate::call::{run, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;
use crate::request::time;

/// What a limiter has done in all processes, and who is there now. Times are sums.
#[derive(Default)]
#[repr(C)]
pub struct Statistics {
    /// Calls that passed (leases held, of a limit of concurrency).
    pub granted: i64,
    /// Calls that were refused, and waits whose time was up.
    pub refused: i64,
    /// Grants that had to wait; the others were immediate.
    pub waited: i64,
    /// The time that those waited.
    pub wait_time_us: i64,
    /// Units taken, after corrections.
    pub units: i64,
    /// Permits that were settled.
    pub corrections: i64,
    /// The time that released leases were held.
    pub held_time_us: i64,
    /// Leases whose holder released them after their end.
    pub overages: i64,
    /// Leases that had ended without a release when somebody else was granted one.
    pub reclaimed: i64,
    /// Tickets that lost their place because they did not look in time.
    pub lapsed: i64,
    /// Leases held now.
    pub leases: i64,
    /// Tickets in the queue now.
    pub tickets: i64,
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
        }
    }
}

/// What all processes did with a limiter, and who is there now. at_us as in pg_request.
#[unsafe(no_mangle)]
pub extern "C" fn pg_stats(
    limiter: *const LimiterHandle,
    at_us: i64,
    statistics: Option<&mut MaybeUninit<Statistics>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("statistics", statistics, Statistics::default, error, || {
        match run(limiter, Operation::Statistics { at: time(at_us)? })? {
            Answer::Statistics(statistics) => Ok((*statistics).into()),
            other => Err(unexpected(&other)),
        }
    })
}
