//! `pg_statistics`: the counters of a limiter over all processes.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{Answer, Operation, Statistics as CoreStatistics};

use crate::call::{run, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;
use crate::text;

/// How many of the refused calls one limit refused.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RefusedBy {
    /// The label of the limit.
    pub label: [c_char; 40],
    /// The refused calls.
    pub refused: i64,
}

/// The counters of a limiter over all processes, and its current leases and tickets. Times are
/// sums.
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
    /// How many of the grants that waited have waited how long, in powers of two of a millisecond:
    /// below 1 ms, from 1 ms to below 2 ms, then to below 4 ms, and so on; the last from 2^20 ms (17
    /// minutes and a half) on.
    pub waits: [i64; 22],
    /// The number of limits in refused_by.
    pub refused_by_count: usize,
    /// The refused calls by the limit that refused them, in the order of the labels; of a name that has
    /// had more than 32 labels, the first 32. A pause, a block and the end of a wait refuse the others.
    pub refused_by: [RefusedBy; 32],
    /// Calls that processes decided without the store, by on_unavailable; they count neither as granted
    /// nor as refused.
    pub degraded: i64,
    /// Calls that failed because the store was unavailable.
    pub errors: i64,
    /// Granted calls after which at most a fifth of a limit was left.
    pub near_limit: i64,
    /// The units that grants and extensions charged: units before corrections.
    pub estimated_units: i64,
    /// How many of the released leases were held how long, as waits.
    pub holds: [i64; 22],
}

impl Statistics {
    const NONE: Self = Self {
        granted: 0,
        refused: 0,
        waited: 0,
        wait_time_us: 0,
        units: 0,
        corrections: 0,
        held_time_us: 0,
        overages: 0,
        reclaimed: 0,
        lapsed: 0,
        leases: 0,
        tickets: 0,
        shadow_refused: 0,
        waits: [0; 22],
        refused_by_count: 0,
        refused_by: [RefusedBy { label: [0; 40], refused: 0 }; 32],
        degraded: 0,
        errors: 0,
        near_limit: 0,
        estimated_units: 0,
        holds: [0; 22],
    };
}

impl From<CoreStatistics> for Statistics {
    fn from(core: CoreStatistics) -> Self {
        let number = |value| number(Some(value));
        let mut refused_by = Self::NONE.refused_by;
        for (slot, (label, refused)) in refused_by.iter_mut().zip(&core.refused_by) {
            *slot = RefusedBy { label: text::write(label), refused: number(*refused) };
        }
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
            waits: core.waits.counts().map(number),
            refused_by_count: core.refused_by.len().min(refused_by.len()),
            refused_by,
            degraded: number(core.degraded),
            errors: number(core.errors),
            near_limit: number(core.near_limit),
            estimated_units: number(core.estimated_units),
            holds: core.holds.counts().map(number),
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
    guard_into(
        "statistics",
        statistics,
        || Statistics::NONE,
        error,
        || match run(limiter, Operation::Statistics)? {
            Answer::Statistics(statistics) => Ok((*statistics).into()),
            other => Err(unexpected(&other)),
        },
    )
}
