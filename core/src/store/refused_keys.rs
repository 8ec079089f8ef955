//! `RefusedKeys`: how often each key of a keyed limiter was refused, by the hour, in bounded memory.
//!
//! With too many keys, the lowest counts go: the count of the first that goes is taken from all (Misra and Gries). So counts are
//! never too high, and those of all keys together lose at most one in `KEPT + 1` of the refusals. Redis does the same with the
//! counts of all processes; see `redis/tally.lua`.

use std::collections::HashMap;

/// How many keys are kept of an hour when there were twice as many.
const KEPT: usize = 64;

/// The microseconds of an hour.
const HOUR: u64 = 3_600_000_000;

/// The counts of an hour and those of the hours around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusedKeys(Vec<OfHour>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfHour {
    pub(crate) hour: u64,
    pub(crate) counts: HashMap<Box<str>, u64>,
}

impl RefusedKeys {
    /// Returns the number of the hour at a time in microseconds.
    pub(crate) const fn hour_at(now: u64) -> u64 {
        now / HOUR
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts a refusal.
    pub(crate) fn count(&mut self, now: u64, key: &str) {
        self.of_hour(Self::hour_at(now)).add(key, 1);
    }

    /// Adds counts that were taken out before.
    pub(crate) fn add(&mut self, more: &Self) {
        for OfHour { hour, counts } in &more.0 {
            let of_hour = self.of_hour(*hour);
            for (key, refused) in counts {
                of_hour.add(key, *refused);
            }
        }
    }

    pub(crate) fn hours(&self) -> &[OfHour] {
        &self.0
    }

    /// Returns the counts of the hour of now and of the last.
    pub(crate) fn recent(&self, now: u64) -> impl Iterator<Item = (String, u64)> {
        let now = Self::hour_at(now);
        let recent = self.0.iter().filter(move |of| of.hour == now || of.hour + 1 == now);
        recent.flat_map(|of| of.counts.iter().map(|(key, refused)| (key.to_string(), *refused)))
    }

    pub(crate) fn forget(&mut self, key: &str) {
        for of in &mut self.0 {
            of.counts.remove(key);
        }
    }

    fn of_hour(&mut self, hour: u64) -> &mut OfHour {
        let at = self.0.iter().position(|of| of.hour == hour).unwrap_or_else(|| {
            // Nobody asks for others, unless the clock runs back.
            self.0.retain(|of| of.hour.abs_diff(hour) <= 1);
            self.0.push(OfHour { hour, ..OfHour::default() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl OfHour {
    fn add(&mut self, key: &str, refused: u64) {
        if let Some(sum) = self.counts.get_mut(key) {
            *sum += refused;
            return;
        }
        self.counts.insert(key.into(), refused);
        if self.counts.len() > 2 * KEPT {
            self.prune();
        }
    }

    #[cold]
    fn prune(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let (_, first_to_go, _) = counts.select_nth_unstable_by(KEPT, |a, b| b.cmp(a));
        let least = *first_to_go;
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(least);
            *count > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_700_000_000_000_000;

    fn found(keys: &RefusedKeys, now: u64) -> HashMap<String, u64> {
        keys.recent(now).collect()
    }

    #[test]
    fn counts_are_of_this_hour_and_the_last() {
        let mut keys = RefusedKeys::default();
        for (hours, key) in [(0, "ada"), (0, "ada"), (1, "bob"), (1, "bob"), (1, "bob")] {
            keys.count(NOW + hours * HOUR, key);
        }
        let expected = |pairs: &[(&str, u64)]| pairs.iter().map(|(key, n)| ((*key).to_owned(), *n)).collect();
        assert_eq!(found(&keys, NOW), expected(&[("ada", 2)]));
        assert_eq!(found(&keys, NOW + HOUR), expected(&[("ada", 2), ("bob", 3)]));
        assert_eq!(found(&keys, NOW + 2 * HOUR), expected(&[("bob", 3)]));
        assert_eq!(found(&keys, NOW + 3 * HOUR), expected(&[]));
        keys.count(NOW + 9 * HOUR, "eve");
        assert_eq!(keys.hours().len(), 1, "the older ones are gone");
        keys.count(NOW, "eve");
        assert_eq!(found(&keys, NOW), expected(&[("eve", 1)]), "a clock that was set back");
        keys.forget("eve");
        assert_eq!(found(&keys, NOW), expected(&[]));
    }

    proptest! {
        #[test]
        fn counts_are_exact_for_few_keys_and_lose_a_known_share_for_many(
            refused in prop::collection::vec((0_u32..400, 1_u32..30), 1..3_000),
            range in 1_u32..400,
            split in 1_usize..40,
        ) {
            // Some keys come often, most seldom, in several reports.
            let (mut keys, mut sum, mut exact, mut all) = (RefusedKeys::default(), RefusedKeys::default(), HashMap::new(), 0);
            for (i, (key, skew)) in refused.into_iter().enumerate() {
                let key = (key % range / skew).to_string();
                keys.count(NOW, &key);
                *exact.entry(key).or_insert(0) += 1;
                all += 1;
                if i % split == 0 {
                    sum.add(&std::mem::take(&mut keys));
                }
            }
            sum.add(&keys);
            let (found, is_exact) = (found(&sum, NOW), exact.len() <= 2 * KEPT);
            prop_assert!(found.len() <= 2 * KEPT);
            for (key, exact) in exact {
                let found = found.get(&key).copied().unwrap_or(0);
                let lost = if is_exact { 0 } else { all / (KEPT as u64 + 1) };
                prop_assert!(found <= exact && found + lost >= exact, "{}: {} of {}, all={}", key, found, exact, all);
            }
        }
    }
}
