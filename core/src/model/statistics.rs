//! `Statistics`: the counters of a limiter since its statistics were last forgotten.

use crate::base::micros::Micros;
use crate::model::durations::Durations;
use crate::model::label::Label;

/// How long statistics are kept after the last use of a limiter by default: 90 days.
pub const DEFAULT_STATISTICS_TTL: Micros = Micros(90 * 86_400 * 1_000_000);

/// Returns whether a grant that leaves this many units of a limit is near the limit: at most a fifth is left.
#[inline]
pub(crate) const fn is_near(remaining: u64, limit: u64) -> bool {
    remaining.saturating_mul(5) <= limit
}

/// The counters of a limiter over all processes, and its current leases and tickets. Times are sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// How many of the refused calls each limit refused, by its label, in the order of the labels. The others are those that a
    /// pause, a block or a wait's end refused.
    pub refused_by: Vec<(Label, u64)>,
    /// How long the grants that waited have waited.
    pub waits: Durations,
    /// How long released leases were held.
    pub holds: Durations,
    /// Granted calls that were near the limit of their decision: at most a fifth of it was left. They count as granted too.
    pub near_limit: u64,
    /// The units that were charged when calls were granted, and by extensions of permits: `units` before corrections.
    pub estimated_units: u64,
    /// Calls that processes decided without the store, by [`OnUnavailable`](crate::OnUnavailable); they count neither as granted
    /// nor as refused.
    ///
    /// A process sends them when the store answers again: one that ends before loses them.
    pub degraded: u64,
    /// Calls that failed because the store was unavailable.
    ///
    /// A call whose reply was lost may count as granted or refused too. They are sent as `degraded` is.
    pub errors: u64,
    /// When a process last decided a call without the store, by its clock; `None` if none did.
    pub last_degraded: Option<Micros>,
}

impl Statistics {
    /// The names of the numbers, in their order, but for `shadow_refused`.
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

    /// Counts refusals by a limit, which are among the refused calls already.
    pub(crate) fn refuse_by(&mut self, label: &Label, count: u64) {
        match self.refused_by.iter_mut().find(|(other, _)| other == label) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None if count > 0 => {
                let at = self.refused_by.partition_point(|(other, _)| **other < **label);
                self.refused_by.insert(at, (label.clone(), count));
            }
            None => {}
        }
    }

    /// Counts a grant that has waited.
    pub(crate) fn wait(&mut self, wait: u64) {
        self.waited += 1;
        self.wait_time.0 += wait;
        self.waits.add(Durations::bucket(wait), 1);
    }

    /// Counts a released lease by the microseconds for which it was held.
    pub(crate) fn hold(&mut self, held: u64) {
        self.held_time.0 += held;
        self.holds.add(Durations::bucket(held), 1);
    }

    /// Adds the counters of another state of the limiter.
    pub(crate) fn add(&mut self, other: &Self) {
        let mut sums = self.all();
        sums.iter_mut().zip(other.all()).for_each(|(sum, other)| *sum = sum.wrapping_add(other));
        self.set_all(sums);
        self.degraded += other.degraded;
        self.errors += other.errors;
        self.last_degraded = self.last_degraded.max(other.last_degraded);
        for (label, count) in &other.refused_by {
            self.refuse_by(label, *count);
        }
        self.waits += &other.waits;
        self.holds += &other.holds;
    }

    /// Returns the values in the order of [`FIELDS`](Self::FIELDS), then `shadow_refused`, `near_limit` and `estimated_units`.
    const fn all(&self) -> [u64; 15] {
        let mut all = [0; 15];
        let (values, others) = all.split_at_mut(Self::FIELDS.len());
        values.copy_from_slice(&self.values());
        others.copy_from_slice(&[self.shadow_refused, self.near_limit, self.estimated_units]);
        all
    }

    /// Replaces the values, which are in the order of [`all`](Self::all).
    const fn set_all(&mut self, values: [u64; 15]) {
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
            self.shadow_refused,
            self.near_limit,
            self.estimated_units,
        ] = values;
    }
}
