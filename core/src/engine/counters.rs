//! `Counters`: what a state, or a keyed limiter in memory, has counted. Twin of `add_statistic` in `state.lua` and
//! of `register.lua`.

use crate::model::history::{History, RecentSums, Sums};
use crate::model::label::Label;
use crate::model::statistics::Statistics;

/// The counters of plain calls, and a pointer to the others: with many limiters, most of the time goes into reading states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    granted: u64,
    refused: u64,
    near_limit: u64,
    units: u64,
    /// The minute that was last counted in.
    minute: u64,
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default)]
struct More {
    /// The other counters.
    statistics: Statistics,
    /// By how much corrections have changed the units.
    corrected: i64,
    /// The sums when the minute began.
    before: Sums,
    /// The sums of earlier minutes.
    recent: RecentSums,
}

impl Counters {
    pub(crate) fn is_empty(&self) -> bool {
        self.granted == 0 && self.refused == 0 && self.units == 0 && self.more.is_none()
    }

    /// Counts a grant by its units, and whether it is near the limit.
    #[inline]
    pub(crate) fn grant(&mut self, now: u64, units: u64, is_near: bool) {
        self.charge(now, units.cast_signed());
        self.granted += 1;
        self.near_limit += u64::from(is_near);
    }

    /// Counts the correction of a charge by a number of units.
    pub(crate) fn correct(&mut self, now: u64, change: i64) {
        self.charge(now, change);
        self.others().corrections += 1;
        let corrected = &mut self.more.get_or_insert_default().corrected;
        *corrected = corrected.wrapping_add(change);
    }

    /// Counts charged units, or with a negative number units that were given back: of a permit from where nothing is counted, more
    /// than were charged here.
    #[inline]
    pub(crate) fn charge(&mut self, now: u64, units: i64) {
        self.enter_minute(now);
        self.units = self.units.wrapping_add_signed(units);
    }

    /// Counts a call that a limit with this label refused, or something else.
    #[inline]
    pub(crate) fn refuse(&mut self, now: u64, label: Option<&Label>) {
        self.enter_minute(now);
        self.refused += 1;
        if let Some(label) = label {
            self.others().refuse_by(label, 1);
        }
    }

    /// Returns the beginning of the minute that was last counted in, if a call was refused.
    #[cfg(feature = "redis")]
    pub(crate) fn refused_at(&self) -> Option<u64> {
        (self.refused > 0).then(|| RecentSums::time_of(self.minute))
    }

    /// Counts a grant that has waited.
    pub(crate) fn wait(&mut self, now: u64, wait: u64) {
        self.enter_minute(now);
        self.others().wait(wait);
    }

    /// Returns the counters that plain calls do not change.
    pub(crate) fn others(&mut self) -> &mut Statistics {
        &mut self.more.get_or_insert_default().statistics
    }

    /// Adds what one call on another state of the limiter has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        let sums = other.sums();
        if sums != Sums::default() {
            self.enter(other.minute);
        }
        self.granted += other.granted;
        self.near_limit += other.near_limit;
        self.refused += other.refused;
        self.units = self.units.wrapping_add(other.units);
        if let Some(more) = &other.more {
            self.others().add(&more.statistics);
            let corrected = &mut self.more.get_or_insert_default().corrected;
            *corrected = corrected.wrapping_add(more.corrected);
        }
    }

    /// Returns the statistics for a reader.
    pub(crate) fn statistics(&self) -> Statistics {
        let others = self.more.as_ref().map(|more| more.statistics.clone()).unwrap_or_default();
        let corrected = self.more.as_ref().map_or(0, |more| more.corrected);
        // Without units below zero.
        let [units, estimated_units] = [self.units, self.units.wrapping_sub(corrected.cast_unsigned())]
            .map(|units| i64::try_from(units).map_or(0, i64::cast_unsigned));
        let Self { granted, refused, near_limit, .. } = *self;
        Statistics { granted, refused, units, near_limit, estimated_units, ..others }
    }

    /// Returns the history for a reader.
    pub(crate) fn history(&self, now: u64) -> History {
        self.recent().shown(now)
    }

    /// Returns the sums of all minutes up to the last.
    pub(crate) fn recent(&self) -> RecentSums {
        let mut counters = self.clone();
        counters.end_minute();
        counters.more.map(|more| more.recent).unwrap_or_default()
    }

    #[inline]
    fn enter_minute(&mut self, now: u64) {
        self.enter(RecentSums::minute_at(now));
    }

    /// Begins another minute, also an earlier one when the clock ran back.
    #[inline]
    fn enter(&mut self, minute: u64) {
        if minute != self.minute {
            if !self.is_empty() {
                self.end_minute();
            }
            self.minute = minute;
        }
    }

    #[cold]
    fn end_minute(&mut self) {
        let (sums, minute) = (self.sums(), self.minute);
        let before = self.more.as_ref().map(|more| more.before).unwrap_or_default();
        if sums != before {
            let more = self.more.get_or_insert_default();
            more.before = sums;
            more.recent.age(minute);
            more.recent.add_minute(
                minute,
                Sums {
                    granted: sums.granted - before.granted,
                    refused: sums.refused - before.refused,
                    waited: sums.waited - before.waited,
                    units: sums.units.wrapping_sub(before.units),
                },
            );
        }
    }

    fn sums(&self) -> Sums {
        Sums {
            granted: self.granted,
            refused: self.refused,
            waited: self.more.as_ref().map_or(0, |more| more.statistics.waited),
            units: self.units.cast_signed(),
        }
    }
}
