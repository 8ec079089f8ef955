//! `Totals`: the result of a simulation.

use std::collections::VecDeque;
use std::fmt;

/// The result of a simulation. Times are microseconds; each job counts once, in its current state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The name of the policy.
    pub name: String,
    /// The jobs that arrived: the sum of `granted`, `refused`, `gave_up`, `lost` and `pending`.
    pub arrived: u64,
    /// Jobs that were granted.
    pub granted: u64,
    /// Jobs that were refused and did not retry, including those refused by the upstream.
    pub refused: u64,
    /// Jobs that used all attempts or their maximum wait.
    pub gave_up: u64,
    /// Jobs whose client crashed.
    pub lost: u64,
    /// Jobs that still wait or will retry.
    pub pending: u64,
    /// The number of requests to the limiter, without those by which a waiting caller looks for a lost message.
    pub decisions: u64,
    /// The granted jobs that waited or retried.
    pub waited: u64,
    /// The number of upstream refusals.
    pub throttled: u64,
    /// The waits of granted jobs since their arrival.
    pub wait: Waits,
    /// The final units of granted calls, including those whose client crashed later; of a cost by label the largest
    /// number.
    pub units: u64,
    /// The use of the busiest limit, in thousandths of the most that the limits in force permit in that time. An
    /// interval of a bucket or a window that is only partly covered counts in full; a throttle counts starts; a lease
    /// counts until it is released or expires.
    ///
    /// At most 1000, except when calls cost more than requested, and after an override: existing leases stay that a
    /// lower limit would not grant, and a bucket may drop the part of its count above a lower limit.
    pub utilisation_permille: u64,
    /// The interval of `largest_burst`: the shortest interval of the first policy.
    pub burst_interval: u64,
    /// The most units granted within any interval of that length.
    pub largest_burst: u64,
    /// The time from the first arrival to the last granted call, when nothing is pending.
    pub drained_after: Option<u64>,
    /// The simulated time.
    pub ended_at: u64,
    /// Whether the simulation stopped after [`MAX_DECISIONS`](super::MAX_DECISIONS) with steps remaining.
    pub cut_off: bool,
    /// The number of rows beyond the [`MAX_ROWS`](super::MAX_ROWS) that a timeline keeps.
    pub unrecorded: u64,
}

/// Waits of granted jobs, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The mean, rounded down.
    pub mean: u64,
    /// The median (nearest rank).
    pub p50: u64,
    /// The 95th percentile (nearest rank).
    pub p95: u64,
    /// The maximum.
    pub max: u64,
}

impl Waits {
    pub(super) fn of(mut waits: Vec<u64>) -> Self {
        if waits.is_empty() {
            return Self::default();
        }
        waits.sort_unstable();
        let rank = |percent: usize| waits[(waits.len() * percent).div_ceil(100) - 1];
        let sum: u128 = waits.iter().map(|wait| u128::from(*wait)).sum();
        let mean = u64::try_from(sum / waits.len() as u128).unwrap_or(u64::MAX);
        Self { mean, p50: rank(50), p95: rank(95), max: rank(100) }
    }
}

/// Returns the most units within any interval of this length; `grants` are sorted by time.
pub(super) fn largest_burst(grants: &[(u64, u64)], interval: u64) -> u64 {
    let (mut inside, mut sum, mut most) = (VecDeque::new(), 0, 0);
    for (at, units) in grants {
        inside.push_back((*at, *units));
        sum += units;
        while let Some((_, left)) = inside.front().copied().filter(|(oldest, _)| oldest + interval <= *at) {
            sum -= left;
            inside.pop_front();
        }
        most = most.max(sum);
    }
    most
}

impl fmt::Display for Totals {
    /// Writes one line of JSON, identical in the terminal and in the browser.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arrived, granted, refused, gave_up, lost, pending, decisions, waited, throttled, .. } = self;
        f.write_str("{\"name\":")?;
        quoted(&self.name, f)?;
        write!(f, ",\"arrived\":{arrived},\"granted\":{granted},\"refused\":{refused},\"gave_up\":{gave_up}")?;
        write!(f, ",\"lost\":{lost},\"pending\":{pending},\"decisions\":{decisions},\"waited\":{waited}")?;
        let Waits { mean, p50, p95, max } = self.wait;
        write!(
            f,
            ",\"throttled\":{throttled},\"wait_us\":{{\"mean\":{mean},\"p50\":{p50},\"p95\":{p95},\"max\":{max}}}"
        )?;
        write!(f, ",\"units\":{},\"utilisation_permille\":{}", self.units, self.utilisation_permille)?;
        let (interval, burst) = (self.burst_interval, self.largest_burst);
        write!(f, ",\"largest_burst\":{{\"interval_us\":{interval},\"units\":{burst}}},\"drained_after_us\":")?;
        match self.drained_after {
            Some(drained) => write!(f, "{drained}")?,
            None => f.write_str("null")?,
        }
        let Self { ended_at, cut_off, unrecorded, .. } = self;
        write!(f, ",\"ended_at_us\":{ended_at},\"cut_off\":{cut_off},\"unrecorded\":{unrecorded}}}")
    }
}

/// Writes a JSON string (RFC 8259, section 7).
fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    use fmt::Write;

    f.write_char('"')?;
    for char in text.chars() {
        match char {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            control if u32::from(control) < 0x20 => write!(f, "\\u{:04x}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_are_of_the_nearest_rank() {
        assert_eq!(Waits::of(vec![]), Waits::default());
        assert_eq!(Waits::of(vec![7]), Waits { mean: 7, p50: 7, p95: 7, max: 7 });
        assert_eq!(Waits::of((1..=100).rev().collect()), Waits { mean: 50, p50: 50, p95: 95, max: 100 });
    }

    proptest! {
        #[test]
        fn the_largest_burst_is_that_of_the_definition(
            mut grants in prop::collection::vec((0_u64..50, 0_u64..5), 0..40),
            interval in 1_u64..20,
        ) {
            grants.sort_unstable();
            let within = |from: u64| {
                grants.iter().filter(|(at, _)| (from..from + interval).contains(at)).map(|(_, units)| units).sum::<u64>()
            };
            prop_assert_eq!(largest_burst(&grants, interval), (0..50).map(within).max().unwrap_or(0));
        }

        #[test]
        fn totals_are_json(name in ".*") {
            let text = Totals { name: name.clone(), ..Totals::default() }.to_string();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(value["name"].as_str(), Some(&*name));
            prop_assert_eq!(value["wait_us"]["p95"].as_u64(), Some(0));
        }
    }
}
