//! `Waits`: how long the grants that waited in the queue have waited, as a histogram.

use std::ops::AddAssign;

/// The number of grants by the time for which they waited, in powers of two of a millisecond.
///
/// The first count is of waits below 1 ms, the next of those from 1 ms to below 2 ms, then to below 4 ms, and so on; the last,
/// the 22nd, is of all from 2^20 ms (17 minutes and a half) on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits(Option<Box<[u64; Self::BUCKETS]>>);

impl Waits {
    /// The number of counts.
    pub const BUCKETS: usize = 22;

    /// Returns the counts, the shortest waits first.
    pub fn counts(&self) -> [u64; Self::BUCKETS] {
        self.0.as_deref().copied().unwrap_or_default()
    }

    /// Returns which count a wait of so many microseconds belongs to.
    pub(crate) const fn bucket(wait: u64) -> usize {
        let bits = (u64::BITS - (wait / 1_000).leading_zeros()) as usize;
        if bits < Self::BUCKETS { bits } else { Self::BUCKETS - 1 }
    }

    pub(crate) fn add(&mut self, bucket: usize, count: u64) {
        if count > 0
            && let Some(sum) = self.0.get_or_insert_default().get_mut(bucket)
        {
            *sum = sum.saturating_add(count);
        }
    }
}

impl AddAssign<&Self> for Waits {
    fn add_assign(&mut self, other: &Self) {
        for (bucket, count) in other.counts().into_iter().enumerate() {
            self.add(bucket, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_power_of_two_begins_a_count() {
        let buckets = [0, 999, 1_000, 1_999, 2_000, 3_999, 4_000].map(Waits::bucket);
        assert_eq!(buckets, [0, 0, 1, 1, 2, 2, 3]);
        let long = [1_048_575_999, 1_048_576_000, u64::MAX].map(Waits::bucket);
        assert_eq!(long, [20, 21, 21]);
    }
}
