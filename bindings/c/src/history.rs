//! `pg_history`: what a limiter has counted in each of the last minutes and hours.

use std::mem::MaybeUninit;

use paddlegate_core::{Answer, History as CoreHistory, HistoryEntry as CoreEntry, Operation};

use crate::call::{run, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;

/// The counts of one minute or hour.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HistoryEntry {
    /// When it began, in microseconds since 1970.
    pub start_us: i64,
    /// Granted calls (leases, for a concurrency limit).
    pub granted: i64,
    /// Refused calls, and waits that timed out.
    pub refused: i64,
    /// Grants that waited in the queue; the others were immediate.
    pub waited: i64,
    /// Charged units. A correction counts when it is made; when more was given back than charged, this
    /// is 0.
    pub units: i64,
}

/// What a limiter has counted in each minute and hour, as UTC has them, by the clock of the store.
#[repr(C)]
pub struct History {
    /// The last 60 minutes, the oldest first; the last one is not over.
    pub minutes: [HistoryEntry; 60],
    /// The last 48 hours, the oldest first; the last one is not over. They contain the minutes.
    pub hours: [HistoryEntry; 48],
}

impl HistoryEntry {
    const NONE: Self = Self { start_us: 0, granted: 0, refused: 0, waited: 0, units: 0 };
}

impl History {
    const NONE: Self = Self { minutes: [HistoryEntry::NONE; 60], hours: [HistoryEntry::NONE; 48] };
}

impl From<&CoreHistory> for History {
    fn from(core: &CoreHistory) -> Self {
        Self { minutes: entries(&core.minutes), hours: entries(&core.hours) }
    }
}

/// Returns the entries; in the first hours after 1970 there are fewer, and the first ones are empty.
fn entries<const COUNT: usize>(core: &[CoreEntry]) -> [HistoryEntry; COUNT] {
    let mut entries = [HistoryEntry::NONE; COUNT];
    for (slot, entry) in entries.iter_mut().rev().zip(core.iter().rev()) {
        let [granted, refused, waited, units] =
            [entry.granted, entry.refused, entry.waited, entry.units].map(|count| number(Some(count)));
        *slot = HistoryEntry { start_us: number(Some(entry.start.0)), granted, refused, waited, units };
    }
    entries
}

/// Writes what was counted in each of the last 60 minutes and 48 hours by all processes, for charts.
///
/// A keyed limiter has the counts of all its keys: call it with the handle that has no key.
#[unsafe(no_mangle)]
pub extern "C" fn pg_history_get(
    limiter: *const LimiterHandle,
    history: Option<&mut MaybeUninit<History>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "history",
        history,
        || History::NONE,
        error,
        || match run(limiter, Operation::History)? {
            Answer::History(history) => Ok((&*history).into()),
            other => Err(unexpected(&other)),
        },
    )
}
