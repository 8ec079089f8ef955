//! `Reschedule`: how often a job over the limit is rescheduled, and by how much.

use crate::base::micros::Micros;

/// The default maximum number of reschedules before the error of a job is raised: 20, the documented default of
/// Sidekiq's limiter.
pub const RESCHEDULE: u32 = 20;

/// Returns the delay of a job that was over the limit `overrated` times, this time included.
///
/// The delay is 300 seconds for each time, plus `draw`, plus one second.
///
/// `draw` is a random number from 0 to 299, and a larger one counts as 299. This is the documented default of the job
/// middleware of Sidekiq's limiter, `(300 * job['overrated']) + rand(300) + 1`. It is called after `overrated` was
/// incremented, so the first time lies 301 to 600 seconds ahead.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, backoff};
/// assert_eq!(backoff(1, 0), Micros(301_000_000));
/// assert_eq!(backoff(1, 299), Micros(600_000_000));
/// ```
pub fn backoff(overrated: u32, draw: u32) -> Micros {
    let seconds = 300 * u64::from(overrated) + u64::from(draw.min(299)) + 1;
    Micros(seconds * 1_000_000)
}

/// The limit on the reschedules of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reschedule {
    /// The maximum number of reschedules; 0 never reschedules. Default [`RESCHEDULE`].
    pub cap: u32,
}

impl Reschedule {
    /// Returns the new `overrated` of a job that was over the limit `overrated` times before; `None` when it gives up
    /// and its error is to be raised.
    ///
    /// The count never decreases, so a job that has given up once gives up immediately from then on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Reschedule;
    /// assert_eq!(Reschedule { cap: 2 }.next(1), Some(2));
    /// assert_eq!(Reschedule { cap: 2 }.next(2), None);
    /// assert_eq!(Reschedule::default().cap, 20);
    /// ```
    pub fn next(self, overrated: u32) -> Option<u32> {
        (overrated < self.cap).then(|| overrated + 1)
    }
}

impl Default for Reschedule {
    fn default() -> Self {
        Self { cap: RESCHEDULE }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_time_lies_301_to_600_seconds_ahead() {
        let overrated = Reschedule::default().next(0).unwrap();
        assert_eq!(overrated, 1);
        assert_eq!((backoff(overrated, 0), backoff(overrated, 299)), (Micros(301_000_000), Micros(600_000_000)));
    }

    #[test]
    fn a_job_gives_up_at_the_cap() {
        assert_eq!(Reschedule::default().next(19), Some(20));
        for (cap, raises_at) in [(20, 20), (2, 2), (0, 0)] {
            let reschedule = Reschedule { cap };
            let times = std::iter::successors(Some(0), |overrated| reschedule.next(*overrated)).skip(1).count();
            assert_eq!(times, raises_at, "cap {cap}");
            assert_eq!(reschedule.next(cap), None, "cap {cap}");
        }
    }

    #[test]
    fn twenty_times_take_about_a_day() {
        let sum = |draw| (1..=RESCHEDULE).map(|overrated| backoff(overrated, draw).0).sum::<u64>() / 3_600_000_000;
        assert_eq!((sum(0), sum(299)), (17, 19));
    }

    proptest! {
        #[test]
        fn any_numbers_are_taken(overrated: u32, draw: u32, cap: u32) {
            prop_assert!(backoff(overrated, draw) <= backoff(overrated, 299));
            prop_assert_eq!(Reschedule { cap }.next(overrated).is_some(), overrated < cap);
        }
    }
}
