//! `StatisticsBody`: the counters of a limiter over all processes.

use std::collections::BTreeMap;

use paddlegate::Statistics;
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;

/// The counters of a limiter over all processes. Times are sums in seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatisticsBody {
    /// Granted calls.
    granted: u64,
    /// Refused calls, and waits that timed out.
    refused: u64,
    /// Grants that waited in the queue.
    waited: u64,
    /// The time for which those grants waited.
    wait_time: f64,
    /// Charged units, after corrections.
    units: u64,
    /// Settled permits.
    corrections: u64,
    /// The time for which released leases were held.
    held_time: f64,
    /// Leases that were released after their end.
    overages: u64,
    /// Leases that had ended without a release when another lease was granted.
    reclaimed: u64,
    /// Tickets that lost their position because they were not claimed in time.
    lapsed: u64,
    /// Current leases.
    leases: u64,
    /// Current tickets in the queue.
    tickets: u64,
    /// Calls that only the mode `shadow` let pass.
    shadow_refused: u64,
    /// How many of the refused calls each limit refused, by its label.
    refused_by: BTreeMap<String, u64>,
    /// How many of the grants that waited have waited how long, in powers of two of a millisecond; the first below 1 ms.
    waits: Vec<u64>,
    /// Calls that processes decided without the store, by `on_unavailable`; they count neither as granted nor as refused.
    degraded: u64,
    /// Calls that failed because the store was unavailable.
    errors: u64,
    /// Granted calls after which at most a fifth of a limit was left.
    near_limit: u64,
    /// The units that grants and extensions charged: `units` before corrections.
    estimated_units: u64,
    /// How many of the released leases were held how long, in counts as those of `waits`.
    holds: Vec<u64>,
    /// When a process last decided a call without the store, by its clock, in seconds since 1970; null if none did.
    last_degraded: Option<f64>,
}

impl From<&Statistics> for StatisticsBody {
    fn from(all: &Statistics) -> Self {
        Self {
            granted: all.granted,
            refused: all.refused,
            waited: all.waited,
            wait_time: seconds(all.wait_time),
            units: all.units,
            corrections: all.corrections,
            held_time: seconds(all.held_time),
            overages: all.overages,
            reclaimed: all.reclaimed,
            lapsed: all.lapsed,
            leases: all.leases,
            tickets: all.tickets,
            shadow_refused: all.shadow_refused,
            refused_by: all.refused_by.iter().map(|(label, count)| (label.to_string(), *count)).collect(),
            waits: all.waits.counts().to_vec(),
            degraded: all.degraded,
            errors: all.errors,
            near_limit: all.near_limit,
            estimated_units: all.estimated_units,
            holds: all.holds.counts().to_vec(),
            last_degraded: all.last_degraded.map(seconds),
        }
    }
}
