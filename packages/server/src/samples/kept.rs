//! `Kept`: the samples of all limiters. One with one limit takes about 2 KiB, and 1 KiB for each further limit.

use std::collections::HashMap;

use paddlegate::{History, Inspection, Label, Micros};

use super::{MAX_LIMITERS, MINUTE};

/// A value that was not read.
const NONE: u64 = u64::MAX;

/// The minutes of an hour.
const MINUTES_OF_HOUR: u64 = 60;

/// The name and the group.
type Identity = (Box<str>, Option<Box<str>>);

/// The samples of all limiters.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// When the first samples were read.
    since: Option<Micros>,
    limiters: HashMap<Identity, Track>,
}

/// The samples of one limiter, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// When this server began to read samples.
    pub(crate) since: Micros,
    /// The label and the amount of each limit, as last read.
    pub(crate) limits: Vec<(Label, u64)>,
    /// The last 60 minutes.
    pub(crate) minutes: Vec<Sample>,
    /// The last 48 hours.
    pub(crate) hours: Vec<Sample>,
}

/// What was read in one minute or hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) start: Micros,
    /// The most tickets in the queue; `None` when nothing was read.
    pub(crate) waiting: Option<u64>,
    /// The least that was left of each limit.
    pub(crate) remaining: Vec<Option<u64>>,
}

/// One limiter.
#[derive(Debug, Default)]
struct Track {
    waiting: Series,
    limits: Vec<(Label, u64, Series)>,
    /// The minute of the last sample.
    minute: u64,
    /// Whether it found anything taken.
    is_busy: bool,
}

/// The values of the last minutes and hours.
#[derive(Debug)]
struct Series {
    minutes: Ring,
    hours: Ring,
}

/// A value for each of the last minutes or hours, by its number.
#[derive(Debug)]
struct Ring {
    values: Box<[u64]>,
    newest: u64,
}

impl Kept {
    pub(super) fn begin(&mut self, now: Micros) {
        self.since.get_or_insert(now);
    }

    /// Returns the limiters of which something was taken.
    pub(super) fn busy(&self) -> impl Iterator<Item = Identity> {
        self.limiters.iter().filter(|(_, track)| track.is_busy).map(|(identity, _)| identity.clone())
    }

    pub(super) fn add(&mut self, name: &str, group: Option<&str>, inspection: &Inspection) {
        let (identity, minute) = ((name.into(), group.map(Into::into)), inspection.at.0 / MINUTE);
        if self.limiters.len() >= MAX_LIMITERS && !self.limiters.contains_key(&identity) {
            let oldest = self.limiters.iter().min_by_key(|(_, track)| track.minute);
            let Some(oldest) = oldest.filter(|(_, track)| track.minute < minute).map(|(oldest, _)| oldest.clone())
            else {
                return;
            };
            self.limiters.remove(&oldest);
        }
        self.limiters.entry(identity).or_default().add(minute, inspection);
    }

    /// Forgets those that were not read within two days.
    pub(super) fn forget(&mut self, minute: u64) {
        let kept = History::HOURS as u64 * MINUTES_OF_HOUR;
        self.limiters.retain(|_, track| track.minute.saturating_add(kept) > minute);
    }

    pub(super) fn sampled(&self, name: &str, group: Option<&str>, minute: u64) -> Option<Sampled> {
        let (since, track) = (self.since?, self.limiters.get(&(name.into(), group.map(Into::into)))?);
        let entries = |of: fn(&Series) -> &Ring, newest: u64, length: u64| {
            let count = of(&track.waiting).values.len() as u64;
            let entry = |number: u64| Sample {
                start: Micros(number * length * MINUTE),
                waiting: of(&track.waiting).get(number),
                remaining: track.limits.iter().map(|(_, _, series)| of(series).get(number)).collect(),
            };
            ((newest + 1).saturating_sub(count)..=newest).map(entry).collect()
        };
        Some(Sampled {
            since,
            limits: track.limits.iter().map(|(label, amount, _)| (label.clone(), *amount)).collect(),
            minutes: entries(|series| &series.minutes, minute, 1),
            hours: entries(|series| &series.hours, minute / MINUTES_OF_HOUR, MINUTES_OF_HOUR),
        })
    }
}

impl Track {
    fn add(&mut self, minute: u64, inspection: &Inspection) {
        self.waiting.add(minute, inspection.ticket_count, u64::max);
        // Others have left the policy.
        self.limits.retain(|(label, ..)| inspection.limits.iter().any(|limit| limit.label == *label));
        for limit in &inspection.limits {
            let at = self.limits.iter().position(|(label, ..)| *label == limit.label).unwrap_or_else(|| {
                self.limits.push((limit.label.clone(), 0, Series::default()));
                self.limits.len() - 1
            });
            self.limits[at].1 = limit.limit;
            self.limits[at].2.add(minute, limit.remaining, u64::min);
        }
        self.minute = self.minute.max(minute);
        self.is_busy = inspection.ticket_count > 0 || inspection.limits.iter().any(|limit| limit.taken > 0);
    }
}

impl Default for Series {
    fn default() -> Self {
        Self { minutes: Ring::new(History::MINUTES), hours: Ring::new(History::HOURS) }
    }
}

impl Series {
    fn add(&mut self, minute: u64, value: u64, worse: fn(u64, u64) -> u64) {
        self.minutes.add(minute, value, worse);
        self.hours.add(minute / MINUTES_OF_HOUR, value, worse);
    }
}

impl Ring {
    fn new(length: usize) -> Self {
        Self { values: vec![NONE; length].into(), newest: 0 }
    }

    fn add(&mut self, number: u64, value: u64, worse: fn(u64, u64) -> u64) {
        let length = self.values.len() as u64;
        if number > self.newest {
            for passed in (self.newest + 1).max((number + 1).saturating_sub(length))..=number {
                *self.slot(passed) = NONE;
            }
            self.newest = number;
        } else if self.newest - number >= length {
            return;
        }
        let slot = self.slot(number);
        *slot = if *slot == NONE { value.min(NONE - 1) } else { worse(*slot, value) };
    }

    fn get(&self, number: u64) -> Option<u64> {
        let is_kept = number <= self.newest && self.newest - number < self.values.len() as u64;
        Some(self.values[self.at(number)]).filter(|value| is_kept && *value != NONE)
    }

    fn slot(&mut self, number: u64) -> &mut u64 {
        let at = self.at(number);
        &mut self.values[at]
    }

    #[allow(clippy::cast_possible_truncation, reason = "below the length")]
    fn at(&self, number: u64) -> usize {
        (number % self.values.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use paddlegate::{InspectedLimit, Kind, LimitSource, Mode};

    use super::*;

    fn inspection(minute: u64, waiting: u64, remaining: u64) -> Inspection {
        let limit = InspectedLimit {
            label: Label::new("window").expect("a label"),
            kind: Kind::Window,
            limit: 9,
            interval: Micros(MINUTE),
            source: LimitSource::Policy,
            taken: 9 - remaining,
            remaining,
            next_after: None,
            reset_after: Micros(0),
        };
        Inspection {
            at: Micros(minute * MINUTE),
            limits: vec![limit],
            paused_for: None,
            blocked_for: None,
            mode: Mode::Enforce,
            leases: Vec::new(),
            lease_count: 0,
            tickets: Vec::new(),
            ticket_count: waiting,
        }
    }

    fn known(samples: &[Sample]) -> Vec<(u64, u64, u64)> {
        let known =
            samples.iter().filter_map(|sample| Some((sample.start.0 / MINUTE, sample.waiting?, sample.remaining[0]?)));
        known.collect()
    }

    #[test]
    fn the_worst_of_each_minute_and_hour_is_kept_for_an_hour_and_two_days() {
        let mut kept = Kept::default();
        kept.begin(Micros(1));
        let start = 60_000;
        for (minute, waiting, remaining) in [(0, 2, 5), (0, 1, 7), (1, 0, 3), (59, 4, 9), (61, 0, 8)] {
            kept.add("api", None, &inspection(start + minute, waiting, remaining));
        }
        let found = kept.sampled("api", None, start + 61).expect("samples");
        assert_eq!((found.minutes.len(), found.hours.len()), (60, 48));
        assert_eq!(known(&found.minutes), [(start + 59, 4, 9), (start + 61, 0, 8)]);
        assert_eq!(known(&found.hours), [(start, 4, 3), (start + 60, 0, 8)]);
        let earlier = kept.sampled("api", None, start + 60).expect("samples");
        assert_eq!(known(&earlier.minutes), [(start + 59, 4, 9)], "of a slower clock");
        assert_eq!(
            known(&kept.sampled("api", None, start + 47 * 60).expect("samples").hours),
            [(start, 4, 3), (start + 60, 0, 8)]
        );
        kept.add("api", None, &inspection(start + 200 * 60, 1, 1));
        let found = kept.sampled("api", None, start + 200 * 60).expect("samples");
        assert_eq!((known(&found.minutes).len(), known(&found.hours).len()), (1, 1));
        assert!(kept.sampled("api", Some("group"), start).is_none());
    }

    #[test]
    fn no_more_than_the_most_are_kept_and_idle_ones_are_forgotten() {
        let mut kept = Kept::default();
        kept.begin(Micros(1));
        for i in 0..MAX_LIMITERS as u64 + 5 {
            kept.add(&i.to_string(), None, &inspection(7, 0, 1));
        }
        assert_eq!(kept.limiters.len(), MAX_LIMITERS);
        assert!(kept.sampled("2000", None, 7).is_none(), "all were read in this minute");
        kept.add("new", None, &inspection(8, 0, 9));
        assert!(kept.limiters.len() == MAX_LIMITERS && kept.sampled("new", None, 8).is_some());
        assert_eq!(kept.busy().count(), MAX_LIMITERS - 1);
        kept.forget(7 + 48 * 60);
        assert_eq!(kept.limiters.len(), 1);
    }

    #[test]
    fn a_limit_that_has_left_the_policy_is_forgotten() {
        let mut kept = Kept::default();
        kept.begin(Micros(1));
        kept.add("api", None, &inspection(7, 0, 1));
        let mut other = inspection(8, 0, 2);
        other.limits[0].label = Label::new("rpm").expect("a label");
        kept.add("api", None, &other);
        let found = kept.sampled("api", None, 8).expect("samples");
        assert_eq!(found.limits.iter().map(|(label, _)| label.to_string()).collect::<Vec<_>>(), ["rpm"]);
        let last = &found.minutes[found.minutes.len() - 2..];
        assert_eq!(last.iter().map(|sample| sample.remaining[0]).collect::<Vec<_>>(), [None, Some(2)]);
    }
}
