//! `Statistics`: the counters of a limiter since its statistics were last forgotten.

use crate::base::micros::Micros;

/// How long statistics are kept after the last use of a limiter by default: 90 days.
pub const DEFAULT_STATISTICS_TTL: Micros = Micros(90 * 86_400 * 1_000_000);

/// The counters of a limiter over all processes, and its current leases and tickets. Times are sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Granted calls (leases, for a concurrency limit).
    pub granted: u64,
    /// Refused calls, and waits that timed out.
    pub refused: u64,
    /// Grants that waited in the queue; the others were immediate.
    pub waited: u64,
    /// The time for which those grants waited.
    pub wait_time: Micros,
    /// Charged units, after corrections.
    pub units: u64,
    /// Settled permits.
    pub corrections: u64,
    /// The time for which released leases were held.
    pub held_time: Micros,
    /// Leases that were released after their end, each counted once.
    ///
    /// Of leases that made room for others, only the last thousand count, until five minutes after the last lease has
    /// ended.
    pub overages: u64,
    /// Leases that had ended without a release when another lease was granted.
    pub reclaimed: u64,
    /// Tickets that lost their queue position because they were not claimed in time.
    pub lapsed: u64,
    /// Current leases.
    pub leases: u64,
    /// Current tickets in the queue.
    pub tickets: u64,
    /// Calls that only [`Mode::Shadow`](crate::Mode::Shadow) let pass; they count neither as granted nor as refused.
    pub shadow_refused: u64,
}

impl Statistics {
    /// The names of the fields, in their order, but for `shadow_refused`.
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

    /// Returns the values in the order of [`FIELDS`](Self::FIELDS); times in microseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Statistics;
    /// let statistics = Statistics { refused: 7, ..Statistics::default() };
    /// assert_eq!((Statistics::FIELDS[1], statistics.values()[1]), ("refused", 7));
    /// ```
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

    /// Returns the sums of both; a difference may have wrapped round.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let (mut sums, others) = (self.all(), other.all());
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum = sum.wrapping_add(other));
        Self::from_all(sums)
    }

    /// Returns the difference from earlier statistics, for [`plus`](Self::plus).
    pub(crate) fn minus(&self, earlier: &Self) -> Self {
        let (mut differences, others) = (self.all(), earlier.all());
        differences.iter_mut().zip(others).for_each(|(it, other)| *it = it.wrapping_sub(other));
        Self::from_all(differences)
    }

    /// Returns the values in the order of [`FIELDS`](Self::FIELDS), then `shadow_refused`.
    pub(crate) const fn all(&self) -> [u64; 13] {
        let values = self.values();
        let mut all = [self.shadow_refused; 13];
        let (first, _) = all.split_at_mut(values.len());
        first.copy_from_slice(&values);
        all
    }

    /// Creates statistics from values in the order of [`all`](Self::all).
    pub(crate) const fn from_all(values: [u64; 13]) -> Self {
        let [
            granted,
            refused,
            waited,
            wait,
            units,
            corrections,
            held,
            overages,
            reclaimed,
            lapsed,
            leases,
            tickets,
            shadow_refused,
        ] = values;
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
            shadow_refused,
        }
    }
}
