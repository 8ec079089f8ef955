//! Statistics and history.

use std::collections::HashMap;

use paddlegate_core::HistoryEntry;

use crate::error::Result;
use crate::limiter::NativeLimiter;
use crate::number::{number, us};

/// The counters of a limiter.
#[derive(uniffi::Record)]
pub struct NativeStatistics {
    pub granted: i64,
    pub refused: i64,
    pub waited: i64,
    pub wait_time_us: i64,
    pub units: i64,
    pub corrections: i64,
    pub held_time_us: i64,
    pub overages: i64,
    pub reclaimed: i64,
    pub lapsed: i64,
    pub leases: i64,
    pub tickets: i64,
    pub shadow_refused: i64,
    pub refused_by: HashMap<String, i64>,
    pub waits: Vec<i64>,
    pub degraded: i64,
    pub errors: i64,
    pub near_limit: i64,
    pub estimated_units: i64,
    pub holds: Vec<i64>,
}

/// What was counted in a minute or an hour.
#[derive(uniffi::Record)]
pub struct NativeHistoryEntry {
    pub start_us: i64,
    pub granted: i64,
    pub refused: i64,
    pub waited: i64,
    pub units: i64,
}

/// What was counted in the last minutes and hours.
#[derive(uniffi::Record)]
pub struct NativeHistory {
    pub minutes: Vec<NativeHistoryEntry>,
    pub hours: Vec<NativeHistoryEntry>,
}

#[uniffi::export]
impl NativeLimiter {
    pub fn statistics(&self) -> Result<NativeStatistics> {
        let it = self.0.statistics()?;
        Ok(NativeStatistics {
            granted: number(it.granted),
            refused: number(it.refused),
            waited: number(it.waited),
            wait_time_us: us(it.wait_time),
            units: number(it.units),
            corrections: number(it.corrections),
            held_time_us: us(it.held_time),
            overages: number(it.overages),
            reclaimed: number(it.reclaimed),
            lapsed: number(it.lapsed),
            leases: number(it.leases),
            tickets: number(it.tickets),
            shadow_refused: number(it.shadow_refused),
            refused_by: it.refused_by.iter().map(|(label, count)| (label.to_string(), number(*count))).collect(),
            waits: it.waits.counts().into_iter().map(number).collect(),
            degraded: number(it.degraded),
            errors: number(it.errors),
            near_limit: number(it.near_limit),
            estimated_units: number(it.estimated_units),
            holds: it.holds.counts().into_iter().map(number).collect(),
        })
    }

    pub fn history(&self) -> Result<NativeHistory> {
        let it = self.0.history()?;
        let entries = |entries: &[HistoryEntry]| entries.iter().map(NativeHistoryEntry::from).collect();
        Ok(NativeHistory { minutes: entries(&it.minutes), hours: entries(&it.hours) })
    }
}

impl From<&HistoryEntry> for NativeHistoryEntry {
    fn from(it: &HistoryEntry) -> Self {
        Self {
            start_us: us(it.start),
            granted: number(it.granted),
            refused: number(it.refused),
            waited: number(it.waited),
            units: number(it.units),
        }
    }
}
