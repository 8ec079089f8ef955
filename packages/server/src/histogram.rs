//! `Histogram`: counts times by their length.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds in microseconds; the last count is of longer times.
pub(crate) const BOUNDS: [u64; 17] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    5_000_000,
];

/// Counts times by their length, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

/// What a histogram has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// By bounds, each without the shorter ones.
    pub(crate) counts: [u64; BOUNDS.len() + 1],
    /// The sum of all times in microseconds.
    pub(crate) sum: u64,
}

impl Histogram {
    pub(crate) fn count(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|bound| bound * 1_000 < nanos);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> Counted {
        Counted {
            counts: std::array::from_fn(|i| self.counts[i].load(Ordering::Relaxed)),
            sum: self.nanos.load(Ordering::Relaxed) / 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_up_to_its_bound() {
        let histogram = Histogram::default();
        let nanos = [0, 10_000, 10_001, 5_000_000_000, 5_000_000_001];
        for each in nanos {
            histogram.count(Duration::from_nanos(each));
        }
        let counted = histogram.counted();
        assert_eq!((counted.counts[0], counted.counts[1]), (2, 1));
        assert_eq!((counted.counts[16], counted.counts[17]), (1, 1));
        assert_eq!(counted.sum, nanos.iter().sum::<u64>() / 1_000);
    }
}
