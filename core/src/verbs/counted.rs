//! `Counted`: statistics as they are stored, a hash of fields and counts. See `add_statistic` in `engine/state.lua` and
//! `engine/register.lua`.

use super::value::Value;
use crate::base::micros::Micros;
use crate::model::durations::Durations;
use crate::model::history::{History, RecentSums, Sums};
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::statistics::Statistics;

/// What one hash has counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) statistics: Statistics,
    pub(crate) recent: RecentSums,
}

impl Counted {
    /// Reads a list of each field and its count. Damaged counts are none.
    pub(crate) fn read(fields: &[Value]) -> Self {
        let mut counted = Self::default();
        // Stored as what exceeds one for each grant.
        let mut excess = 0_i64;
        let mut corrected = 0_i64;
        for pair in fields.chunks_exact(2) {
            let [Value::Text(field), Value::Text(count)] = pair else { continue };
            let [Ok(field), Ok(count)] = [field, count].map(|text| std::str::from_utf8(text)) else { continue };
            match field {
                "minutes" => entries(count).for_each(|(minute, sums)| counted.recent.add_minute(minute, sums)),
                "hours" => entries(count).for_each(|(hour, sums)| counted.recent.add_hour(hour, sums)),
                _ => {
                    let Ok(count) = count.parse::<i64>() else { continue };
                    if field == "corrected" {
                        corrected = count;
                    }
                    excess = excess.saturating_add(counted.add_field(field, count));
                }
            }
        }
        let granted = counted.statistics.granted;
        counted.statistics.units = granted.saturating_add_signed(excess);
        counted.statistics.estimated_units = granted.saturating_add_signed(excess.saturating_sub(corrected));
        counted
    }

    /// Returns the history at a time in microseconds.
    pub(crate) fn history(self, now: u64) -> History {
        History { last_degraded: self.statistics.last_degraded, ..self.recent.shown(now) }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.statistics.add(&other.statistics);
        self.recent.add(&other.recent);
    }

    /// Adds a field, and returns how many units it is above one for each grant.
    fn add_field(&mut self, field: &str, signed: i64) -> i64 {
        let sums = &mut self.statistics;
        let count = u64::try_from(signed).unwrap_or(0);
        match field {
            "granted" => sums.granted += count,
            "refused" => sums.refused += count,
            "units" => return signed,
            "wait" => sums.wait_time = Micros(count),
            "corrections" => sums.corrections = count,
            "held" => sums.held_time = Micros(count),
            "overages" => sums.overages = count,
            "reclaimed" => sums.reclaimed = count,
            "lapsed" => sums.lapsed = count,
            "shadow_refused" => sums.shadow_refused = count,
            "near_limit" => sums.near_limit += count,
            "degraded" => sums.degraded = count,
            "errors" => sums.errors = count,
            "degraded_at" => sums.last_degraded = (count > 0).then_some(Micros(count)),
            _ => return self.add_detail(field, signed, count),
        }
        0
    }

    /// Adds what is counted by a limit, by a wait or by how long a lease was held: `r:tag`, `h3` or `l3`, or of the current minute: `g`, `n`, `u`, `r` or `w`, the number
    /// of the minute, and behind a colon the rest.
    fn add_detail(&mut self, field: &str, signed: i64, count: u64) -> i64 {
        if let Some(label) = field.strip_prefix("r:") {
            self.refuse_by(label, count);
        } else if let Some(bucket) = field.strip_prefix('h') {
            self.wait(bucket, count);
        } else if let Some(bucket) = field.strip_prefix('l').and_then(bucket_of) {
            self.statistics.holds.add(bucket, count);
        } else if let Some((letter, minute, rest)) = of_minute(field) {
            let mut sums = Sums::default();
            match letter {
                "g" | "n" => {
                    (sums.granted, sums.units) = (count, signed);
                    self.statistics.granted += count;
                    self.statistics.near_limit += if letter == "n" { count } else { 0 };
                }
                "u" => sums.units = signed,
                "r" => {
                    sums.refused = count;
                    match rest {
                        Some(tag) => self.refuse_by(tag, count),
                        None => self.statistics.refused += count,
                    }
                }
                _ => {
                    sums.waited = count;
                    self.wait(rest.unwrap_or_default(), count);
                }
            }
            self.recent.add_minute(minute, sums);
            return if letter == "u" { signed } else { 0 };
        }
        0
    }

    fn refuse_by(&mut self, tag: &str, count: u64) {
        if let Some(label) = label_of_tag(tag) {
            self.statistics.refused += count;
            self.statistics.refuse_by(&label, count);
        }
    }

    fn wait(&mut self, bucket: &str, count: u64) {
        if let Some(bucket) = bucket_of(bucket) {
            self.statistics.waited += count;
            self.statistics.waits.add(bucket, count);
        }
    }
}

fn bucket_of(text: &str) -> Option<usize> {
    text.parse().ok().filter(|bucket| *bucket < Durations::BUCKETS)
}

/// Returns the letter, the minute and the rest of a field of a minute.
fn of_minute(field: &str) -> Option<(&str, u64, Option<&str>)> {
    let (letter, rest) = field.split_at_checked(1)?;
    let (minute, rest) = rest.split_once(':').map_or((rest, None), |(minute, rest)| (minute, Some(rest)));
    if ["g", "n", "u", "r", "w"].contains(&letter) { Some((letter, minute.parse().ok()?, rest)) } else { None }
}

/// Returns the entries of earlier minutes or hours: each is a semicolon, then with spaces between its number, the granted, the
/// refused, those that waited, and the units beyond one for each grant.
fn entries(text: &str) -> impl Iterator<Item = (u64, Sums)> {
    text.split(';').filter_map(|entry| {
        let mut words = entry.split(' ');
        let number = words.next()?.parse().ok()?;
        let [granted, refused, waited] = [words.next()?, words.next()?, words.next()?].map(str::parse::<u64>);
        let (granted, excess) = (granted.ok()?, words.next()?.parse::<i64>().ok()?);
        let units = excess.saturating_add_unsigned(granted);
        Some((number, Sums { granted, refused: refused.ok()?, waited: waited.ok()?, units }))
    })
}

/// Returns the label of a limit, whose tag is the letter of its kind and with a label of its own that behind a colon.
fn label_of_tag(tag: &str) -> Option<Label> {
    if let Some((_, label)) = tag.split_once(':') {
        return Label::new(label).ok();
    }
    let is_letter = |kind: &Kind| tag.strip_prefix(kind.letter()).is_some_and(str::is_empty);
    Kind::ALL.into_iter().find(is_letter).map(Label::of)
}
