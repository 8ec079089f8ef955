//! `Durations`: how often something took how long, as a histogram.

use std::ops::AddAssign;

/// The number of times that something lasted so long, in powers of two of a millisecond.
///
/// The first count is of those below 1 ms, the next of those from 1 ms to below 2 ms, then to below 4 ms, and so on; the last,
/// the 22nd, is of all from 2^20 ms (17 minutes and a half) on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations(Option<Box<[u64; Self::BUCKETS]>>);

impl Durations {
    /// The number of counts.
    pub const BUCKETS: usize = 22;

    /// The bounds below which the counts are, in microseconds; the last count has none.
    pub const BOUNDS: [u64; Self::BUCKETS - 1] = {
        let mut bounds = [1_000; Self::BUCKETS - 1];
        let mut i = 0;
        while i < bounds.len() {
            bounds[i] = 1_000 << i;
            i += 1;
        }
        bounds
    };

    /// Returns the counts, the shortest times first.
    pub fn counts(&self) -> [u64; Self::BUCKETS] {
        self.0.as_deref().copied().unwrap_or_default()
    }

    /// Returns which count a time in microseconds belongs to.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Durations;
    /// assert_eq!([999, 1_000, 2_000].map(Durations::bucket), [0, 1, 2]);
    /// assert_eq!(Durations::BOUNDS[1], 2_000);
    /// ```
    pub const fn bucket(time: u64) -> usize {
        let bits = (u64::BITS - (time / 1_000).leading_zeros()) as usize;
        if bits < Self::BUCKETS { bits } else { Self::BUCKETS - 1 }
    }

    #[cfg(feature = "redis")]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn add(&mut self, bucket: usize, count: u64) {
        if count > 0
            && let Some(sum) = self.0.get_or_insert_default().get_mut(bucket)
        {
            *sum = sum.saturating_add(count);
        }
    }
}

impl AddAssign<&Self> for Durations {
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
        let buckets = [0, 999, 1_000, 1_999, 2_000, 3_999, 4_000].map(Durations::bucket);
        assert_eq!(buckets, [0, 0, 1, 1, 2, 2, 3]);
        let long = [1_048_575_999, 1_048_576_000, u64::MAX].map(Durations::bucket);
        assert_eq!(long, [20, 21, 21]);
    }

    #[test]
    fn a_time_is_below_its_bound_and_not_below_the_one_before() {
        for time in Durations::BOUNDS.into_iter().flat_map(|bound| [bound - 1, bound]) {
            let bucket = Durations::bucket(time);
            assert_eq!(bucket, Durations::BOUNDS.partition_point(|bound| *bound <= time), "{time}");
        }
        assert_eq!(Durations::BOUNDS[20], 1_048_576_000);
    }
}
