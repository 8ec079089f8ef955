//! `Statistics`: what a limiter has done since its statistics were last forgotten.

use crate::base::micros::Micros;

/// How long the statistics of a limiter are kept after its last use, unless it says otherwise.
pub const DEFAULT_STATISTICS_TTL: Micros = Micros(90 * 86_400 * 1_000_000);

/// What a limiter has done in all processes, and who is there now. Times are sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls that passed (leases held, of a concurrency limit).
    pub granted: u64,
    /// Calls that were refused, and waits whose time was up.
    pub refused: u64,
    /// Grants that had to wait; the others were immediate.
    pub waited: u64,
    /// The time that those waited.
    pub wait_time: Micros,
    /// Units taken, after corrections.
    pub units: u64,
    /// Permits that were settled.
    pub corrections: u64,
    /// The time that released leases were held.
    pub held_time: Micros,
    /// Leases whose holder released them after their end, each once. Of those that made room for others the last thousand
    /// count, for five minutes after the last lease has ended.
    pub overages: u64,
    /// Leases that had ended without a release when somebody else was granted one.
    pub reclaimed: u64,
    /// Tickets that lost their place because they did not look in time.
    pub lapsed: u64,
    /// Leases held now.
    pub leases: u64,
    /// Tickets in the queue now.
    pub tickets: u64,
}

impl Statistics {
    /// The names of the fields, in their order.
    pub const FIELDS: [&'static str; 12] = [
        "granted",
        "refused",
        "waited",
        "wait_time",
        "units",
        "corrections",
        "held_time",
        "overages",
        "reclaimed",
        "lapsed",
        "leases",
        "tickets",
    ];

    /// The numbers in the order of [`FIELDS`](Self::FIELDS); times in microseconds.
    pub const fn values(&self) -> [u64; 12] {
        [
            self.granted,
            self.refused,
            self.waited,
            self.wait_time.0,
            self.units,
            self.corrections,
            self.held_time.0,
            self.overages,
            self.reclaimed,
            self.lapsed,
            self.leases,
            self.tickets,
        ]
    }

    /// From the numbers in the order of [`FIELDS`](Self::FIELDS).
    #[cfg(feature = "redis")]
    pub(crate) const fn from_values(values: [u64; 12]) -> Self {
        let [granted, refused, waited, wait, units, corrections, held, overages, reclaimed, lapsed, leases, tickets] =
            values;
        Self {
            granted,
            refused,
            waited,
            wait_time: Micros(wait),
            units,
            corrections,
            held_time: Micros(held),
            overages,
            reclaimed,
            lapsed,
            leases,
            tickets,
        }
    }
}
