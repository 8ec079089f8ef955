//! `History`: what a limiter has counted in each of the last minutes and hours.

use std::ops::Range;

use crate::base::micros::Micros;

/// A minute in microseconds.
const MINUTE: u64 = 60_000_000;

/// The minutes of an hour.
const MINUTES_OF_HOUR: u64 = 60;

/// What a limiter has counted in each of the last 60 minutes and of the last 48 hours, for charts.
///
/// Minutes and hours begin as in UTC, by the clock of the store. The last entry of each list is the one that is not
/// over yet. All processes are counted, and all keys of a keyed limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The last 60 minutes, the oldest first.
    pub minutes: Vec<HistoryEntry>,
    /// The last 48 hours, the oldest first. They contain the minutes.
    pub hours: Vec<HistoryEntry>,
    /// When a process last decided a call without the store, by its clock, as
    /// [`Statistics::last_degraded`](crate::Statistics::last_degraded).
    pub last_degraded: Option<Micros>,
}

/// The counts of one minute or of one hour of a [`History`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it began.
    pub start: Micros,
    /// Granted calls (leases, for a concurrency limit).
    pub granted: u64,
    /// Refused calls, and waits that timed out.
    pub refused: u64,
    /// Grants that waited in the queue; the others were immediate.
    pub waited: u64,
    /// Charged units. A correction counts when it is made; when more was given back than charged, this is 0.
    pub units: u64,
}

impl History {
    /// The number of minutes.
    pub const MINUTES: usize = 60;
    /// The number of hours.
    pub const HOURS: usize = 48;
}

/// Sums over a minute or an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) granted: u64,
    pub(crate) refused: u64,
    pub(crate) waited: u64,
    pub(crate) units: i64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.granted = self.granted.saturating_add(other.granted);
        self.refused = self.refused.saturating_add(other.refused);
        self.waited = self.waited.saturating_add(other.waited);
        self.units = self.units.saturating_add(other.units);
    }
}

/// The minutes and hours of which something is known. A minute that is older than the last 60 is part of its hour alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentSums {
    minutes: Ring,
    hours: Ring,
}

/// Sums by the number of the minute or hour since 1970, the oldest first.
#[derive(Clone, Debug, Default)]
struct Ring(Vec<(u64, Sums)>);

impl RecentSums {
    /// Returns the number of the minute at a time.
    #[inline]
    pub(crate) const fn minute_at(time: u64) -> u64 {
        time / MINUTE
    }

    pub(crate) fn add_minute(&mut self, minute: u64, sums: Sums) {
        self.minutes.add(minute, sums);
    }

    pub(crate) fn add_hour(&mut self, hour: u64, sums: Sums) {
        self.hours.add(hour, sums);
    }

    /// Returns when a minute begins, in microseconds.
    #[cfg(feature = "redis")]
    pub(crate) const fn time_of(minute: u64) -> u64 {
        minute * MINUTE
    }

    /// Adds the sums of another part of the same limiter.
    pub(crate) fn add(&mut self, other: &Self) {
        other.hours.0.iter().for_each(|(hour, sums)| self.hours.add(*hour, *sums));
        other.minutes.0.iter().for_each(|(minute, sums)| self.add_minute(*minute, *sums));
    }

    /// Moves the minutes that are too old in this minute into their hours, and forgets the hours that are.
    pub(crate) fn age(&mut self, minute: u64) {
        let Self { minutes, hours } = self;
        minutes.remove_before((minute + 1).saturating_sub(History::MINUTES as u64), |old, sums| {
            hours.add(old / MINUTES_OF_HOUR, sums);
        });
        hours.remove_before((minute / MINUTES_OF_HOUR + 1).saturating_sub(History::HOURS as u64), |_, _| {});
    }

    /// Returns the history for a reader at this time, or at the time of the newest sum if it is later: the clock of the store may be ahead of the
    /// reader's, but hardly by an hour.
    pub(crate) fn shown(mut self, now: u64) -> History {
        let now = Self::minute_at(now);
        let minute = self.minutes.newest_in(now..now + MINUTES_OF_HOUR).unwrap_or(now);
        self.age(minute);
        let minutes = self.minutes.last(minute, History::MINUTES, MINUTE);
        for (minute, sums) in self.minutes.0 {
            self.hours.add(minute / MINUTES_OF_HOUR, sums);
        }
        let hours = self.hours.last(minute / MINUTES_OF_HOUR, History::HOURS, MINUTES_OF_HOUR * MINUTE);
        History { minutes, hours, last_degraded: None }
    }
}

impl Ring {
    fn newest_in(&self, range: Range<u64>) -> Option<u64> {
        self.0.iter().map(|(number, _)| *number).rfind(|number| range.contains(number))
    }

    fn add(&mut self, number: u64, sums: Sums) {
        let at = self.0.partition_point(|(other, _)| *other < number);
        match self.0.get_mut(at) {
            Some((other, sum)) if *other == number => sum.add(sums),
            _ => self.0.insert(at, (number, sums)),
        }
    }

    fn remove_before(&mut self, number: u64, mut removed: impl FnMut(u64, Sums)) {
        self.0.retain(|(old, sums)| {
            if *old < number {
                removed(*old, *sums);
            }
            *old >= number
        });
    }

    /// Returns the entries of the last `count` minutes or hours, this one included; fewer in the first hours after 1970.
    fn last(&self, newest: u64, count: usize, length: u64) -> Vec<HistoryEntry> {
        let mut known = self.0.iter().peekable();
        let entry = |number: u64| {
            let sums = known.next_if(|(other, _)| *other == number).map_or_else(Sums::default, |(_, sums)| *sums);
            HistoryEntry {
                start: Micros(number * length),
                granted: sums.granted,
                refused: sums.refused,
                waited: sums.waited,
                units: sums.units.try_into().unwrap_or(0),
            }
        };
        ((newest + 1).saturating_sub(count as u64)..=newest).map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000 * MINUTE;

    fn granted(granted: u64) -> Sums {
        Sums { granted, ..Sums::default() }
    }

    fn counts(entries: &[HistoryEntry]) -> Vec<(u64, u64)> {
        entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.granted > 0)
            .map(|(i, entry)| (i as u64, entry.granted))
            .collect()
    }

    #[test]
    fn minutes_move_into_their_hours_and_hours_are_forgotten() {
        let mut recent = RecentSums::default();
        // An hour begins at minute 999,960.
        for (minute, sums) in [(999_900, 1), (999_959, 2), (999_960, 4), (1_000_000, 8)] {
            recent.add_minute(minute, granted(sums));
        }
        let history = recent.clone().shown(NOW);
        assert_eq!((history.minutes.len(), history.hours.len()), (60, 48));
        assert_eq!(counts(&history.minutes), [(18, 2), (19, 4), (59, 8)]);
        assert_eq!(counts(&history.hours), [(46, 3), (47, 12)]);
        assert_eq!(history.minutes[19].start, Micros(999_960 * MINUTE));
        assert_eq!(history.hours[47].start, Micros(999_960 * MINUTE));

        let after = |hours: u64| recent.clone().shown(NOW + hours * 60 * MINUTE);
        assert_eq!((counts(&after(2).minutes), counts(&after(2).hours)), (vec![], vec![(44, 3), (45, 12)]));
        assert_eq!(counts(&after(47).hours), [(0, 12)]);
        assert_eq!(counts(&after(48).hours), []);
    }

    #[test]
    fn sums_that_come_late_count_in_their_own_minute() {
        let mut recent = RecentSums::default();
        recent.add_minute(1_000_000, granted(1));
        recent.add_minute(999_990, granted(2));
        recent.add_minute(999_990, granted(4));
        recent.add_minute(999_000, granted(8));
        recent.add_minute(2_000_000, granted(16));
        let history = recent.shown(NOW - 5 * MINUTE);
        assert_eq!(
            counts(&history.minutes),
            [(49, 6), (59, 1)],
            "the newest sum tells the time, but no clock is so wrong"
        );
        assert_eq!(counts(&history.hours), [(31, 8), (47, 7)]);
    }

    #[test]
    fn more_given_back_than_charged_is_none() {
        let mut recent = RecentSums::default();
        recent.add_minute(0, Sums { units: -5, ..Sums::default() });
        assert_eq!(recent.shown(0).minutes, [HistoryEntry::default()]);
    }
}
